/** Functions and schemas for the daemon. They are not exported by the package. */
export { attributeSettingsFields } from './attributes/schema.ts'
export { auditFields } from './audit/schema.ts'
export { ByteCollector } from './byte-collector.ts'
export { clientTokenFields, currentTokenFields, rolesText } from './clients/schema.ts'
export { defined } from './collections.ts'
export { historyFields, suppressionFields } from './consent/schema.ts'
export { batchOperationNames, maxOperationsPerBatch } from './contacts/batch-schema.ts'
export { contactFields, inputFields, textFields } from './contacts/schema.ts'
export { contactPointFields } from './contacts/series.ts'
export { isRefusedColumn } from './contacts/transfer/columns.ts'
export { quoted } from './contacts/transfer/csv.ts'
export { invalid, nameField } from './errors.ts'
export { holdKeys } from './idempotency/operations.ts'
export { identityFields } from './identities/schema.ts'
export { importFields } from './imports/schema.ts'
export { endOfString, readJson } from './json.ts'
export { withCommas } from './limits.ts'
export { listFields } from './lists/schema.ts'
export { isPublicUrl, isSchemaName, publicUrlRule, schemaNameRule } from './option-schemas.ts'
export { pageSettingsFields } from './pages/schema.ts'
export { hostAndPort, isId, isLoopback } from './parse.ts'
export { type AnySchema, Email, Id, OffsetTime, Time, Uuid } from './record.ts'
export { encryptionKeyId } from './sealing/seal.ts'
export { segmentFields } from './segments/schema.ts'
export { escapeHtml } from './sending/escape.ts'
export { type Feedback, feedbackOf } from './sending/inbound/ses-feedback.ts'
export { createSnsReceiver, type SnsOptions } from './sending/inbound/sns.ts'
export { messageFields } from './sending/message-schema.ts'
export {
  countFields as messageCountFields,
  newsletterFields,
  previewFields,
  summaryFields as newsletterSummaryFields,
  testResultFields,
} from './sending/schema.ts'
export { enrolmentFields, sequenceFields, sequenceSummaryFields, stepFields } from './sending/sequence-schema.ts'

export { deliveryPointFields, failingEndpointFields, steps as seriesSteps } from './statistics/schema.ts'
export { tagFields } from './tags/schema.ts'
export { BlockingQueue } from './time.ts'
export { inTime } from './time-limit.ts'
export { topicFields } from './topics/schema.ts'
export { refuseUnknownNames } from './unknown-names.ts'
export { maxEventsPerBatch } from './webhooks/event-batch.ts'
export { recoveryFields } from './webhooks/recovery.ts'
export {
  attemptFields,
  deliveryFields,
  deliveryStatuses,
  detailFields,
  endpointDeliveryFields,
  endpointFields,
  hostEventTypes,
} from './webhooks/schema.ts'
