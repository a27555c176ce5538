import { randomUUID } from 'node:crypto'
import { groupBy } from '../../collections.ts'
import { now, type Tx } from '../../context.ts'
import { leaseEnd, newClaim } from '../../dispatch/claims.ts'
import type { TasksInFlight } from '../../dispatch/work.ts'
import { findSegmentFilters, type StartedAudience, startedAudience } from '../audience.ts'
import { advance, saveProgress } from '../enrolments.ts'
import { nextPlace } from '../places.ts'
import { addCounts } from '../preparing.ts'
import { type Envelope, findEnvelope } from '../sendable.ts'
import { insertStepMessage, sequences, setUnderWay, stopEnrolments } from '../sequence-queries.ts'
import { sequenceSummaryFrom } from '../sequence-schema.ts'
import type { SkipReason, StopReason } from '../statuses.ts'
import { listPlaces } from '../step-queries.ts'
import * as queries from './claim-queries.ts'
import { readDue } from './due.ts'
import type { Allowance, Campaign } from './pace.ts'

/** A message claimed for one attempt, with its recipient. */
export interface ClaimedMessage {
  readonly id: number
  readonly uuid: string
  readonly campaign: Campaign
  /** The step; null for a newsletter. */
  readonly stepId: number | null
  /** Version of the step's content. */
  readonly version: number
  /** This attempt's number, from 1. */
  readonly attempt: number
  /** Token of the claim. This process may record the outcome only while the row has this token. */
  readonly claim: string
  readonly contact: Recipient
  readonly envelope: Envelope
}

export interface Recipient {
  readonly id: number
  readonly uuid: string
  readonly email: string
  readonly name: string
  /** JSON */
  readonly attributes: string
}

/** The messages that were claimed, and whether anything else was done. */
interface ClaimResult {
  readonly claimed: ClaimedMessage[]
  readonly hasChanged: boolean
}

/** Claims due messages within the allowances, and skips those that must not be sent. */
export async function claimMessages(
  tx: Tx,
  allowances: readonly Allowance[],
  inFlight: TasksInFlight,
): Promise<ClaimResult> {
  const claimed: ClaimedMessage[] = []
  let hasChanged = false
  for (const { campaign, limit } of allowances) {
    const ofClient = { ...tx, clientId: campaign.clientId }
    const claim = campaign.kind === 'newsletter' ? claimOfNewsletter : claimOfSequence
    const done = await claim(ofClient, campaign, limit, inFlight)
    claimed.push(...done.claimed)
    hasChanged ||= done.hasChanged
  }
  return { claimed, hasChanged }
}

const nothing: ClaimResult = { claimed: [], hasChanged: false }

async function claimOfNewsletter(
  tx: Tx,
  campaign: Campaign,
  limit: number,
  inFlight: TasksInFlight,
): Promise<ClaimResult> {
  const newsletter = await queries.lockSending(tx, { id: campaign.id })
  const envelope = newsletter && (await findEnvelope(tx, newsletter))
  if (!newsletter || !envelope) return nothing
  const required = await requiredMemberships(tx, startedAudience(newsletter))
  const due = { id: campaign.id, now: now(tx), ...required }
  const filters = {
    byList: required.lists.length > 0,
    byTopic: required.topics.length > 0,
    bySegmentList: required.segment_lists.length > 0,
    bySegmentTopic: required.segment_topics.length > 0,
  }
  const rows = await readDue(
    tx,
    limit,
    (most) => queries.listDueOfNewsletter(tx, { ...due, limit: most }, filters),
    (row) => isPassedOver(row, inFlight),
  )
  const { claimed, skipped } = await claimOrSkip(tx, rows, { campaign, envelope, limit, inFlight })
  if (skipped.length > 0) await addCounts(tx, campaign.id, { skipped: skipped.length })
  return { claimed, hasChanged: skipped.length > 0 }
}

/** Returns the lists and topics that a recipient must still be on when the message is claimed. */
async function requiredMemberships(tx: Tx, started: StartedAudience) {
  const { lists = [], topics = [] } = started.audience
  const { lists: segment_lists = [], topics: segment_topics = [] } = await findSegmentFilters(tx, started)
  return { lists, topics, segment_lists, segment_topics }
}

/** What the messages of a campaign are claimed for. */
interface ClaimTerms {
  readonly campaign: Campaign
  readonly envelope: Envelope
  /** Maximum messages to claim. */
  readonly limit: number
  readonly inFlight: TasksInFlight
  /** The versions of the steps of a sequence, by their id. */
  readonly versions?: ReadonlyMap<number, number>
}

/** Claims messages. Skips those that must not be sent. */
async function claimOrSkip(tx: Tx, rows: readonly queries.DueMessage[], terms: ClaimTerms) {
  const { campaign, envelope, limit, inFlight, versions } = terms
  const free = rows.filter(({ id }) => !inFlight.has(id)) // a clock change may have ended a lease of this process
  const skipped: queries.DueMessage[] = []
  let ready: queries.DueMessage[] = []
  for (const [reason, some] of groupBy(free, skipReasonOf)) {
    if (reason === undefined) ready = some
    else {
      skipped.push(...some)
      await queries.skipMessages(tx, { ids: some.map(({ id }) => id), reason })
    }
  }
  const taken = ready.slice(0, limit)
  const claim = newClaim(tx)
  const ids = taken.map(({ id }) => id)
  if (ids.length > 0)
    tx.transaction.defer(
      queries.claims.set(tx, {
        ids,
        claim,
        now: now(tx),
        lease_until: leaseEnd(tx, tx.local.mail.settings.timeoutSeconds),
      }),
    )
  const claimed = taken.map((row): ClaimedMessage => {
    const { id, uuid, step_id: stepId, attempts } = row
    const version = stepId === null ? 0 : (versions?.get(stepId) ?? 0)
    return { id, uuid, campaign, stepId, version, attempt: attempts + 1, claim, contact: recipientOf(row), envelope }
  })
  return { claimed, skipped }
}

/** Whether a message is not claimed: it is under way, because a clock change ended its lease, or it must be skipped. */
function isPassedOver(row: queries.DueMessage, inFlight: TasksInFlight): boolean {
  return inFlight.has(row.id) || skipReasonOf(row) !== undefined
}

function skipReasonOf(row: queries.DueMessage): SkipReason | undefined {
  if (row.contact_id === null) return 'erased'
  if (row.is_unsubscribed) return 'unsubscribed'
  if (row.is_suppressed) return 'suppressed'
  if (row.left_list) return 'left_list'
  if (row.left_topic) return 'left_topic'
  return row.is_stopped ? 'stopped' : undefined
}

function recipientOf(
  row: Pick<queries.DueMessage, 'contact_id' | 'contact_uuid' | 'email' | 'name' | 'attributes'>,
): Recipient {
  const { contact_id, contact_uuid: uuid, email, name, attributes } = row
  return { id: contact_id!, uuid, email, name, attributes }
}

/** Claims messages that are tried again first, then steps that are due. */
async function claimOfSequence(
  tx: Tx,
  campaign: Campaign,
  limit: number,
  inFlight: TasksInFlight,
): Promise<ClaimResult> {
  const sequence = await queries.lockActiveSequence(tx, { id: campaign.id })
  const envelope = sequence && (await findEnvelope(tx, sequence))
  if (!sequence || !envelope) return nothing
  const places = await listPlaces(tx, { sequence_id: campaign.id })
  const versions = new Map(places.map(({ id, version }) => [id, version]))
  const { list_id, list_version } = sequence
  const due = { id: campaign.id, now: now(tx), list_id: list_id ?? 0, list_version }
  const retries = await readDue(
    tx,
    limit,
    (most) => queries.listDueOfSequence(tx, { ...due, limit: most }),
    (row) => isPassedOver(row, inFlight),
  )
  const { claimed, skipped } = await claimOrSkip(tx, retries, { campaign, envelope, limit, inFlight, versions })
  for (const { id: messageId, step_id, contact_id } of skipped) {
    if (contact_id === null) continue
    await advance(tx, { sequenceId: campaign.id, contactId: contact_id, stepId: step_id!, messageId, isSent: false })
  }
  const placeAfter = (enrolment: queries.DueEnrolment) => nextPlace(places, enrolment)
  const enrolments = await readDue(
    tx,
    limit,
    (most) => queries.listDueEnrolments(tx, { ...due, limit: most }),
    (enrolment) => !!stopReasonOf(enrolment) || enrolment.is_suppressed || !placeAfter(enrolment),
  )
  let left = limit - claimed.length
  let hasChanged = skipped.length > 0
  for (const enrolment of enrolments) {
    const reason = stopReasonOf(enrolment)
    const place = placeAfter(enrolment)
    if (!reason && place && left === 0) continue
    hasChanged = true
    if (reason) await stopEnrolments(tx, { ids: [enrolment.id], reason })
    else if (!place) await finishEarly(tx, campaign.id, enrolment, places)
    else if (enrolment.is_suppressed) await skipStep(tx, campaign.id, enrolment, place.id)
    else {
      claimed.push(await claimStep(tx, campaign, enrolment, place, envelope))
      left -= 1
    }
  }
  return { claimed, hasChanged }
}

function stopReasonOf(enrolment: queries.DueEnrolment): StopReason | undefined {
  if (enrolment.contact_id === null) return 'erased'
  if (enrolment.is_unsubscribed) return 'unsubscribed'
  return enrolment.left_list ? 'left_list' : undefined
}

type Places = Awaited<ReturnType<typeof listPlaces>>

/** Saves that an enrolment has no further step: it was removed, and the job that follows the removal has not run yet. */
async function finishEarly(tx: Tx, sequenceId: number, enrolment: queries.DueEnrolment, places: Places): Promise<void> {
  const { id, enrolled_id: contactId } = enrolment
  const row = await sequences.find(tx, { client_id: tx.clientId, id: sequenceId })
  await saveProgress(tx, {
    id,
    contactId,
    summary: sequenceSummaryFrom(row!),
    places,
    progress: enrolment,
    since: now(tx),
  })
}

/** Writes a skipped message for a contact whose address must not be mailed, and continues with the next step. */
async function skipStep(tx: Tx, sequenceId: number, enrolment: queries.DueEnrolment, stepId: number): Promise<void> {
  const contactId = enrolment.contact_id!
  const messageId = await insertStepMessage(tx, {
    ...newMessage(tx, sequenceId, contactId, stepId),
    status: 'skipped',
    reason: 'suppressed',
    attempts: 0,
    claim: null,
    claimed_at: null,
    lease_until: null,
  })
  await advance(tx, { sequenceId, contactId, stepId, messageId: messageId!, isSent: false })
}

/** Writes the message of a step, already claimed. */
async function claimStep(
  tx: Tx,
  campaign: Campaign,
  enrolment: queries.DueEnrolment,
  { id: stepId, version }: Places[number],
  envelope: Envelope,
): Promise<ClaimedMessage> {
  const contact = recipientOf(enrolment)
  const claim = newClaim(tx)
  const message = newMessage(tx, campaign.id, contact.id, stepId)
  const id = await insertStepMessage(tx, {
    ...message,
    status: 'pending',
    reason: null,
    attempts: 1,
    claim,
    claimed_at: message.created_at,
    lease_until: leaseEnd(tx, tx.local.mail.settings.timeoutSeconds),
  })
  await setUnderWay(tx, { id: enrolment.id })
  return { id: id!, uuid: message.uuid, campaign, stepId, version, attempt: 1, claim, contact, envelope }
}

/** The columns that every new message of a step has. */
function newMessage(tx: Tx, sequence_id: number, contact_id: number, step_id: number) {
  const created_at = now(tx)
  return {
    client_id: tx.clientId,
    uuid: randomUUID(),
    created_at,
    contact_id,
    sequence_id,
    step_id,
    due_at: created_at,
  }
}
