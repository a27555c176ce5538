#!/usr/bin/env node
import './node-version.ts'

// Loaded only now: on a Node that is too old, its modules cannot even be linked.
void import('./program.ts')
