const oldestMajor = 20
const oldestMinor = 19

/** Ends the process with one line on a Node that cannot run this program. */
export function requireNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  process.stderr.write(
    `mailkeep: Node ${oldestMajor}.${oldestMinor} or later is needed, this is ${process.versions.node}. ` +
      'In a checkout, `npm start` and `npx` use the Node that `npm ci` installed.\n',
  )
  process.exit(1)
}
