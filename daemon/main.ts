#!/usr/bin/env node
/** Ends the process with one line on a Node that cannot run this program. 21 and 22.0 to 22.2 lack `getBuiltinModule`. */
function requireNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 3) || (major === 20 && minor >= 19)) return
  process.stderr.write(
    `mailkeep: Node 20.19 or later 20.x, or 22.3 or later, is needed; this is ${process.versions.node}. ` +
      'In a checkout, `npm start` and `npx` use the Node that `npm ci` installed.\n',
  )
  process.exit(1)
}

requireNode()
// Imported dynamically: a Node that is too old fails to link its modules before any code runs.
void import('./program.ts')
