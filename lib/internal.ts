/** Functions for the daemon. They are not exported by the package. */
export { encryptionKeyId } from './sealing/seal.ts'
export { refuseUnknownNames } from './unknown-names.ts'
