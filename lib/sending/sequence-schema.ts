import * as v from 'valibot'
import type { Optional } from '../collections.ts'
import { type ContactKey, Key } from '../contacts/contact-key.ts'
import { closedObject, Name, wholeNumber } from '../parse.ts'
import { Count, described, Email, Id, type RecordFields, recordFrom, Time, Uuid } from '../record.ts'
import type { Timestamp } from '../time.ts'
import { type ContentInput, contentFields, IdInput, senderFields } from './schema.ts'
import {
  type EnrolmentStatus,
  enrolmentStatuses,
  type SequenceStatus,
  type StopReason,
  sequenceStatuses,
  stopReasons,
} from './statuses.ts'

/** A sequence without its steps, as listings and events show it. */
export interface SequenceSummary {
  id: number
  uuid: string
  name: string
  /** Contacts who are added to this list are enrolled; null: contacts are enrolled by hand only. */
  list_id: number | null
  /** Null: the first verified identity. */
  from_identity_id: number | null
  reply_to: string | null
  status: SequenceStatus
  created_at: Timestamp
  updated_at: Timestamp
}

/** One mail of a sequence. */
export interface SequenceStep {
  id: number
  /** From 1. */
  position: number
  /** Seconds after the step before it; for the first step, after the enrolment. */
  delay_seconds: number
  subject: string
  preheader: string | null
  html: string
  /** Null: made from the html. */
  text: string | null
}

export interface Sequence extends SequenceSummary {
  steps: SequenceStep[]
}

export interface SequenceInput {
  /** 1–255 characters. */
  readonly name: string
  /** Contacts who are added to this list are enrolled. Default: contacts are enrolled by hand only. */
  readonly list_id?: number | null | undefined
  /** Default: the first verified identity. */
  readonly from_identity_id?: number | null | undefined
  readonly reply_to?: string | null | undefined
  /** Default `active`. */
  readonly status?: SequenceStatus | undefined
  /** The steps in their order, as in `setSteps`. */
  readonly steps?: readonly StepInput[] | undefined
}

/** Absent fields stay unchanged. */
export type SequenceChangeInput = Optional<Omit<SequenceInput, 'steps'>>

export interface StepInput extends ContentInput {
  /** Id of a step that stays. Without it the step is new, unless no step has an id: then their positions match. */
  readonly id?: number | undefined
  /** Orders the steps if every step has one. Default: their order in the array. */
  readonly position?: number | undefined
  /** Seconds after the step before it; for the first step, after the enrolment. At most 366 days. */
  readonly delay_seconds: number
}

/** A step that need not be stored, and the contact who would get it. */
export interface StepPreviewInput extends ContentInput {
  readonly contact_id: ContactKey
}

export const StepPreviewOptions = closedObject({ contact_id: Key, ...contentFields })

export interface StepsInput {
  /** All steps in their order, at most 50. Steps that are missing are removed. */
  readonly steps: readonly StepInput[]
}

const status = v.optional(v.picklist(sequenceStatuses, `This must be one of ${sequenceStatuses.join(', ')}.`))
const settings = { list_id: v.optional(v.nullable(IdInput)), ...senderFields, status }

export const SequenceChange = closedObject({ name: v.optional(Name), ...settings })

const maxSteps = 50
const maxDelaySeconds = 366 * 86_400
/** All steps of a sequence are read at once. */
const maxStepsBytes = 2 * 1024 * 1024

const positionProblem = 'This must be a whole number.'

export const NewStep = closedObject({
  id: v.optional(IdInput),
  position: v.optional(v.pipe(v.number(positionProblem), v.safeInteger(positionProblem))),
  delay_seconds: wholeNumber(0, maxDelaySeconds),
  ...contentFields,
})

const Steps = v.pipe(
  v.array(v.unknown(), 'This must be an array of steps.'),
  v.maxLength(maxSteps, `A sequence has at most ${maxSteps} steps.`),
  v.array(NewStep),
  v.check(
    (steps) => Buffer.byteLength(JSON.stringify(steps)) <= maxStepsBytes,
    'The steps must have at most 2 MiB as JSON.',
  ),
)

export const NewSteps = closedObject({ steps: Steps })
export type NewStep = v.InferOutput<typeof NewStep>

export const NewSequence = closedObject({ name: Name, ...settings, steps: v.optional(Steps) })

export const sequenceSummaryFields: RecordFields<SequenceSummary> = {
  id: Id,
  uuid: Uuid,
  name: v.string(),
  list_id: described(v.nullable(Id), 'Contacts who are added to this list are enrolled.'),
  from_identity_id: described(v.nullable(Id), 'null: the first verified identity.'),
  reply_to: v.nullable(Email),
  status: v.picklist(sequenceStatuses),
  created_at: Time,
  updated_at: Time,
}

export const stepFields: RecordFields<SequenceStep> = {
  id: Id,
  position: described(Id, 'From 1.'),
  delay_seconds: described(Count, 'After the step before it; for the first step, after the enrolment.'),
  subject: v.string(),
  preheader: v.nullable(v.string()),
  html: v.string(),
  text: described(v.nullable(v.string()), 'null: made from the html.'),
}

export const sequenceFields: RecordFields<Sequence> = {
  ...sequenceSummaryFields,
  steps: v.array(v.object(stepFields)),
}

export const sequenceSummaryFrom = recordFrom(sequenceSummaryFields)
export const stepFrom = recordFrom(stepFields)

/** A contact on its way through a sequence. */
export interface Enrolment {
  id: number
  sequence_id: number
  contact_id: number
  /** The address of the contact as it is now. Null once the contact is erased. */
  contact_email: string | null
  status: EnrolmentStatus
  /** Why it stopped; null otherwise. */
  reason: StopReason | null
  /** Null when no step follows, or when it has ended. */
  next_step_id: number | null
  /** When the next step is due; null also while its message is under way. */
  due_at: Timestamp | null
  created_at: Timestamp
}

export const enrolmentFields: RecordFields<Enrolment> = {
  id: Id,
  sequence_id: Id,
  contact_id: Id,
  contact_email: described(v.nullable(Email), 'The address of the contact as it is now. null once it is erased.'),
  status: v.picklist(enrolmentStatuses),
  reason: described(v.nullable(v.picklist(stopReasons)), 'Why it stopped. `manual`: by hand.'),
  next_step_id: described(v.nullable(Id), 'null when no step follows, or when it has ended.'),
  due_at: described(v.nullable(Time), 'When the next step is due. null also while its message is under way.'),
  created_at: Time,
}

export interface EnrolmentInput {
  readonly contact_id: ContactKey
}

export const NewEnrolment = closedObject({ contact_id: Key })
