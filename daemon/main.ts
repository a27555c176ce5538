#!/usr/bin/env node
const minMajor = 20
const minMinor = 19

/** Ends the process with one line on a Node that cannot run this program. */
function requireNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return
  process.stderr.write(
    `mailkeep: Node ${minMajor}.${minMinor} or later is needed, this is ${process.versions.node}. ` +
      'In a checkout, `npm start` and `npx` use the Node that `npm ci` installed.\n',
  )
  process.exit(1)
}

requireNode()
// Imported dynamically: a Node that is too old fails to link its modules before any code runs.
void import('./program.ts')
