#!/usr/bin/env node
import { requireNode } from './node-version.ts'

requireNode()
// Imported dynamically: a Node that is too old fails to link its modules before any code runs.
void import('./program.ts')
