/** What the daemon needs beside the public entries. No entry of the package exports it. */
export { encryptionKeyId } from './sealing/seal.ts'
export { refuseUnknownNames } from './unknown-names.ts'
