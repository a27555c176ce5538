/** mailkeep/ses: verifies sender addresses and sends mail with Amazon SES. Loads the AWS SDK at the first request. */
export { type SesClient, type SesOptions, ses } from './identities/ses.ts'
export { type SesMailOptions, sesMail } from './sending/transports/ses.ts'
