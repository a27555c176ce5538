#!/usr/bin/env node
import { requireNode } from './node-version.ts'

requireNode()
// Loaded only now: on a Node that is too old, its modules cannot even be linked.
void import('./program.ts')
