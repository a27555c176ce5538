/** Schemas of the options of the library's functions. Unknown options are refused by name, so that a misspelt one is noticed. */
import * as v from 'valibot'
import { sources } from './context.ts'
import { invalid, nameField } from './errors.ts'
import type { CloseOptions, MailkeepOptions, StartOptions, SubscriberOptions } from './options.ts'
import { closedObject, isId, isInRange, isRecord, validationFailed } from './parse.ts'
import type { MailSettings } from './sending/settings.ts'
import type { KyselyOptions } from './storage/kysely.ts'
import type { PostgresOptions } from './storage/postgres.ts'
import type { SqliteOptions } from './storage/sqlite.ts'
import type { ReplyTo } from './testing/sender.ts'
import type { ContactPlace, TestOptions } from './testing.ts'
import { type Clock, maxTimerMs } from './time.ts'
import type { LookupSettings } from './webhooks/http/resolve.ts'
import type { WebhookSettings } from './webhooks/settings.ts'

/** Makes the compiler check that every option has a schema. */
type OptionsOf<Options> = Readonly<Record<keyof Options, v.GenericSchema>>

/** Schema of an option that is checked where it is used. */
const anything = v.optional(v.unknown())

const isObject = (value: unknown) => typeof value === 'object' && value !== null

function isObjectWith(...methods: string[]) {
  return (value: unknown) =>
    isObject(value) && methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}

/** @param be What the value must be, for the error. */
function must(isValid: (value: unknown) => boolean, be: string) {
  return v.optional(v.custom<unknown>(isValid, `This must ${be}.`))
}

const flag = must((value) => typeof value === 'boolean', 'be true or false')
const method = must((value) => typeof value === 'function', 'be a function')

function isNumber(min: number, max: number) {
  return (value: unknown) => typeof value === 'number' && value >= min && value <= max
}

function number(max: number) {
  return must(isNumber(0, max), `be a number from 0 to ${max}`)
}

function whole(min: number, max: number) {
  const fits = isNumber(min, max)
  return must((value) => fits(value) && Number.isInteger(value), `be a whole number from ${min} to ${max}`)
}

function numbers(min: number, max: number, isOne: (value: unknown) => boolean = isNumber(min, max)) {
  return must((value) => Array.isArray(value) && value.every(isOne), `be a list of numbers from ${min} to ${max}`)
}

export function isPublicUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password, href } = new URL(value)
  // An empty query or fragment shows only in `href`. It would swallow the path of every link.
  return /^https?:$/.test(protocol) && `${username}${password}` === '' && !/[?#]/.test(href)
}

export const publicUrlRule = 'an http or https URL without user, query and fragment'

/** Calls a function of the host. @throws MailkeepError `validation_failed` on the option: it threw an error. */
function callHost<T>(option: string, call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw invalid(option, `The function ${option} threw an error.`, error)
  }
}

/**
 * Returns the host's function `publicUrl`, with a check of what it returns.
 *
 * @throws MailkeepError `validation_failed` on `publicUrl`, at each call that throws or returns no such URL.
 */
export function checkedPublicUrl(publicUrl: () => string | undefined): () => string | undefined {
  return () => {
    const url: unknown = callHost('publicUrl', publicUrl)
    if (url === undefined || isPublicUrl(url)) return url as string | undefined
    throw invalid('publicUrl', `The function publicUrl must return ${publicUrlRule}.`)
  }
}

/**
 * Returns the host's clock, with a check of what it returns.
 *
 * @throws MailkeepError `validation_failed` on `clock`, at each call that throws or returns no time.
 */
export function checkedClock(clock: Clock): Clock {
  return () => {
    const ms = callHost('clock', clock)
    if (typeof ms === 'number' && isInRange(ms)) return ms
    throw invalid('clock', 'The function clock must return milliseconds since 1970.')
  }
}

const isPort = (value: unknown) => isNumber(1, 65_535)(value) && Number.isInteger(value)

const maxCount = 1_000_000
const maxSeconds = 31_536_000

export const schemaNameRule = 'letters, digits and underscores, at most 63'

export function isSchemaName(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(value)
}

function isHostName(value: unknown): boolean {
  return typeof value === 'string' && /^[a-z0-9][a-z0-9.-]{0,252}$/i.test(value)
}

const string = must((value) => typeof value === 'string', 'be a string')

const isPositive = (max: number) => (value: unknown) => isNumber(0, max)(value) && value !== 0

function positive(max: number) {
  return must(isPositive(max), `be a number above 0, at most ${max}`)
}

const webhooks = v.optional(
  closedObject({
    allowPrivate: flag,
    ports: numbers(1, 65_535, isPort),
    retryScheduleSeconds: numbers(0, maxSeconds),
    timeoutSeconds: positive(3600),
    concurrency: whole(1, maxCount),
    endpointsPerClient: whole(1, maxCount),
    endpointConcurrency: whole(1, maxCount),
    disableAfterFailures: whole(1, maxCount),
    disableAfterHours: number(maxCount),
    testDeliveriesPerMinute: whole(0, maxCount),
    retentionDays: positive(36_500),
  } satisfies OptionsOf<WebhookSettings>),
)

const mail = v.optional(
  closedObject({
    transport: must(isObjectWith('send'), 'have the function send, like smtp()'),
    rate: positive(maxCount),
    identityRate: positive(maxCount),
    connections: whole(1, maxCount),
    allowUnverified: flag,
    postalAddress: string,
    timeoutSeconds: positive(3600),
    retentionDays: positive(36_500),
  } satisfies OptionsOf<MailSettings>),
)

const lookup = v.optional(
  closedObject({
    resolver: must(isObject, 'be a resolver of host names'),
    timeoutMs: number(maxTimerMs),
    cacheMs: number(Number.MAX_SAFE_INTEGER),
    now: method,
  } satisfies OptionsOf<LookupSettings>),
)

const logger = must(
  isObjectWith('debug', 'info', 'warn', 'error'),
  'have the functions debug, info, warn and error, like a pino logger',
)

const identityProvider = must(isObjectWith('start', 'status'), 'have the functions start and status, like ses()')

const timeoutMs = must(isPositive(maxTimerMs), 'be a number of milliseconds above 0')

const required = v.string('This must be a string.')
const dkim = v.optional(
  v.object({ domain: required, selector: required, privateKey: required }, 'This must be an object.'),
)

const schemas = {
  createMailkeep: closedObject({
    database: anything,
    encryptionKey: anything,
    previousEncryptionKeys: must(Array.isArray, 'be a list of keys'),
    logger,
    webhooks,
    mail,
    identityProvider,
    publicUrl: must((value) => typeof value === 'function' || isPublicUrl(value), `be ${publicUrlRule}`),
    source: must((value) => sources.some((source) => source === value), `be one of ${sources.join(', ')}`),
    clock: method,
    sender: must(isObjectWith('send', 'close'), 'have the functions send and close'),
    migrate: flag,
    onEvent: method,
    lookup,
  } satisfies OptionsOf<MailkeepOptions>),
  start: closedObject({ dispatch: flag } satisfies OptionsOf<StartOptions>),
  close: closedObject({ timeoutMs: number(maxTimerMs) } satisfies OptionsOf<CloseOptions>),
  on: closedObject({ name: anything } satisfies OptionsOf<SubscriberOptions>),
  kysely: closedObject({ dialect: anything } satisfies OptionsOf<KyselyOptions>),
  sqlite: closedObject({ nativeBinding: anything } satisfies OptionsOf<SqliteOptions>),
  postgres: closedObject({
    schema: must(isSchemaName, `be ${schemaNameRule}`),
    connections: must((value) => Number.isInteger(value) && Number(value) > 0, 'be a positive whole number'),
    pooler: anything,
  } satisfies OptionsOf<PostgresOptions>),
  // `smtp` refuses unknown names itself: those of `dkim` without a path.
  smtp: v.object({
    connections: whole(1, maxCount),
    dkim,
    ca: string,
    timeoutMs,
    ehloName: must(isHostName, 'be a host name'),
  }),
  testMailkeep: closedObject({
    now: must((value) => value !== null && isInRange(Number(value)), 'be a valid date'),
    webhooks,
    mail,
    logger,
    identityProvider,
  } satisfies OptionsOf<TestOptions>),
  'kit.contact': closedObject({
    list: must((value) => isId(isRecord(value) ? value.id : value), 'be a list or its id'),
  } satisfies OptionsOf<ContactPlace>),
  'kit.answer': closedObject({
    status: anything,
    body: string,
    retryAfterSeconds: number(maxSeconds),
  } satisfies OptionsOf<Extract<ReplyTo, object>>),
}

/**
 * Checks the options of one of the library's functions, before anything is opened or changed.
 *
 * @throws MailkeepError `validation_failed`, with paths such as `webhooks.timeoutMs`.
 */
export function checkOptions(of: keyof typeof schemas, options: unknown): void {
  if (!isRecord(options) || 'then' in options) throw invalid('options', `The options of ${of} must be an object.`)
  const result = v.safeParse(schemas[of], options)
  if (!result.success) throw validationFailed(result.issues.map(withPath), 'options')
}

/** Puts the path of the option into the message of an issue. */
function withPath(issue: v.BaseIssue<unknown>): v.BaseIssue<unknown> {
  return { ...issue, message: nameField(v.getDotPath(issue) ?? 'options', issue.message) }
}
