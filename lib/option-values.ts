/**
 * Validates the values of the library's options before anything is opened or changed. A wrong value throws a
 * MailkeepError that names the option.
 */
import * as v from 'valibot'
import { sources } from './context.ts'
import { invalid } from './errors.ts'
import type { MailSettings } from './sending/settings.ts'
import type { LookupSettings } from './webhooks/http/resolve.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

/** Makes the compiler check that every option has a schema. */
type ValuesOf<Options> = Readonly<Record<keyof Options, v.GenericSchema>>

function isObjectWith(...methods: string[]) {
  return (value: unknown) =>
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}

function must(be: (value: unknown) => boolean, message: string) {
  return v.optional(v.custom<unknown>(be, message))
}

const flag = must((value) => typeof value === 'boolean', 'must be true or false')
const method = must((value) => typeof value === 'function', 'must be a function')

function isNumber(min: number, max: number) {
  return (value: unknown) => typeof value === 'number' && value >= min && value <= max
}

function number(max: number) {
  return must(isNumber(0, max), `must be a number from 0 to ${max}`)
}

function whole(min: number, max: number) {
  const fits = isNumber(min, max)
  return must((value) => fits(value) && Number.isInteger(value), `must be a whole number from ${min} to ${max}`)
}

function numbers(min: number, max: number, isOne: (value: unknown) => boolean = isNumber(min, max)) {
  return must((value) => Array.isArray(value) && value.every(isOne), `must be a list of numbers from ${min} to ${max}`)
}

function isPublicUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === ''
}

const publicUrlRule = 'an http or https URL without user, query and fragment'

/**
 * Checks what the function `publicUrl` returned.
 *
 * @throws MailkeepError `validation_failed` on `publicUrl`
 */
export function checkPublicUrl(url: unknown): string | undefined {
  if (url === undefined || isPublicUrl(url)) return url as string | undefined
  throw invalid('publicUrl', `The function publicUrl must return ${publicUrlRule}.`)
}

const isPort = (value: unknown) => isNumber(1, 65_535)(value) && Number.isInteger(value)

/** The longest delay that Node's timers support. */
const maxTimerMs = 2 ** 31 - 1
/** The last time that a Date can have. */
const maxDateMs = 8.64e15
const maxCount = 1_000_000
const maxSeconds = 31_536_000

const timer = must((value) => isNumber(0, maxTimerMs)(value) && value !== 0, 'must be a number of milliseconds above 0')
const string = must((value) => typeof value === 'string', 'must be a string')

const webhookValues = {
  allowPrivate: flag,
  ports: numbers(1, 65_535, isPort),
  retryScheduleSeconds: numbers(0, maxSeconds),
  timeoutSeconds: must((value) => isNumber(0, 3600)(value) && value !== 0, 'must be a number above 0, at most 3600'),
  concurrency: whole(1, maxCount),
  endpointsPerClient: whole(1, maxCount),
  endpointConcurrency: whole(1, maxCount),
  disableAfterFailures: whole(1, maxCount),
  disableAfterHours: number(maxCount),
  testDeliveriesPerMinute: whole(0, maxCount),
  retentionDays: must((value) => isNumber(0, 36_500)(value) && value !== 0, 'must be a number above 0, at most 36500'),
} satisfies ValuesOf<WebhookSettings>

const isPositive = (max: number) => (value: unknown) => isNumber(0, max)(value) && value !== 0

const mailValues = {
  transport: must(isObjectWith('send'), 'must have the function send, like smtp()'),
  rate: must(isPositive(maxCount), `must be a number above 0, at most ${maxCount}`),
  identityRate: must(isPositive(maxCount), `must be a number above 0, at most ${maxCount}`),
  connections: whole(1, maxCount),
  allowUnverified: flag,
  postalAddress: string,
  timeoutSeconds: must(isPositive(3600), 'must be a number above 0, at most 3600'),
  retentionDays: must(isPositive(36_500), 'must be a number above 0, at most 36500'),
} satisfies ValuesOf<MailSettings>

const lookupValues = {
  resolver: must((value) => typeof value === 'object' && value !== null, 'must be a resolver of host names'),
  timeoutMs: number(maxTimerMs),
  cacheMs: number(Number.MAX_SAFE_INTEGER),
  now: method,
} satisfies ValuesOf<LookupSettings>

const required = v.string('must be a string')
const dkim = v.optional(v.object({ domain: required, selector: required, privateKey: required }, 'must be an object'))

const logger = must(
  isObjectWith('debug', 'info', 'warn', 'error'),
  'must have the functions debug, info, warn and error, like a pino logger',
)

const schemas: Readonly<Record<string, v.GenericSchema>> = {
  createMailkeep: v.object({
    database: v.optional(v.unknown()), // `checkSource` validates it
    encryptionKey: v.optional(v.unknown()), // `createSealer` validates it
    previousEncryptionKeys: must(Array.isArray, 'must be a list of keys'),
    logger,
    webhooks: v.optional(v.object(webhookValues, 'must be an object')),
    mail: v.optional(v.object(mailValues, 'must be an object')),
    identityProvider: must(isObjectWith('start', 'status'), 'must have the functions start and status, like ses()'),
    publicUrl: must((value) => typeof value === 'function' || isPublicUrl(value), `must be ${publicUrlRule}`),
    source: must((value) => sources.some((source) => source === value), `must be one of ${sources.join(', ')}`),
    clock: method,
    sender: must(isObjectWith('send', 'close'), 'must have the functions send and close'),
    migrate: flag,
    onEvent: method,
    lookup: v.optional(v.object(lookupValues, 'must be an object')),
  }),
  start: v.object({ dispatch: flag }),
  close: v.object({ timeoutMs: number(maxTimerMs) }),
  testMailkeep: v.object({
    now: must((value) => isNumber(-maxDateMs, maxDateMs)(Number(value)) && value !== null, 'must be a valid date'),
  }),
  smtp: v.object({ connections: whole(1, maxCount), dkim, ca: string, timeoutMs: timer }),
}

/**
 * Checks the values of the options of one of the library's functions.
 *
 * @throws MailkeepError `validation_failed`, with paths such as `webhooks.timeoutSeconds`.
 */
export function checkOptionValues(of: string, options: unknown): void {
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options)
  if (!isObject || 'then' in options) throw invalid('options', `The options of ${of} must be an object.`)
  const schema = schemas[of]
  const result = schema && v.safeParse(schema, options)
  if (!result || result.success) return
  const issue = result.issues[0]
  const path = v.getDotPath(issue as v.BaseIssue<unknown>) ?? 'options'
  throw invalid(path, `${path} ${issue.message}.`)
}
