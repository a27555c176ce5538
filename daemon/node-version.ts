/**
 * Ends the process with one line on a Node that cannot run this program. `main.ts` imports this file first, so it runs
 * before any module that needs a newer Node.
 */
const oldest = [20, 19]

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < oldest[0]! || (major === oldest[0] && minor < oldest[1]!)) {
  process.stderr.write(
    `mailkeep: Node ${oldest.join('.')} or later is needed, this is ${process.versions.node}. ` +
      'In a checkout, `npm start` and `npx` use the Node that `npm ci` installed.\n',
  )
  process.exit(1)
}
