/**
 * Types of the operations, with the documentation that editors show. Written by `npm run reference` from lib/bind.ts and
 * the docstrings of the operations: change them, not this file.
 */
import type { ContactKey } from '../contacts/contact-key.ts'
import type { Page, PageInput } from '../page.ts'
import type { Message, MessageQueryInput } from './message-schema.ts'
import type {
  Newsletter,
  NewsletterChangeInput,
  NewsletterInput,
  NewsletterOptionsInput,
  NewsletterQueryInput,
  NewsletterSummary,
  NewsletterWithAudience,
  Preview,
  PreviewInput,
  ResumeInput,
  SendInput,
  TestInput,
  TestResult,
} from './schema.ts'
import type {
  Enrolment,
  EnrolmentInput,
  Sequence,
  SequenceChangeInput,
  SequenceInput,
  SequenceSummary,
  StepPreviewInput,
  StepsInput,
} from './sequence-schema.ts'

/** Mail to many contacts: `mailkeep.forClient(id).newsletters` */
export interface NewslettersApi {
  /**
   * Returns one page of the client's newsletters without their content, newest first.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: NewsletterQueryInput): Promise<Page<NewsletterSummary>>
  /**
   * Creates a newsletter as a draft. Its templates are checked when it is previewed, tested, scheduled or sent, and its
   * audience when it is scheduled or sent.
   *
   * @throws MailkeepError `validation_failed`: also when the html or text has no `unsubscribe_url`, or the sender identity
   *   or the segment does not exist.
   */
  create(input: NewsletterInput): Promise<Newsletter>
  /**
   * Returns a newsletter. With `audience`, and before it has started, also who would get it now.
   *
   * @throws MailkeepError `not_found`; `validation_failed`
   */
  get(id: number, query?: NewsletterOptionsInput): Promise<NewsletterWithAudience>
  /**
   * Changes a newsletter. A scheduled newsletter must stay ready to be sent. Once it has started, its content and audience
   * stay as they are. The messages that are not sent yet get a new sender.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also on `status` when it has started; `forbidden`: it is no
   *   draft, and the caller's token is not an admin's.
   */
  update(id: number, input: NewsletterChangeInput): Promise<Newsletter>
  /**
   * Deletes a newsletter that is not being sent, with its messages. One that is scheduled is not sent then.
   *
   * @throws MailkeepError `not_found`; `validation_failed` on `status`: it is being sent or paused: cancel it first;
   *   `forbidden`: it is no draft, and the caller's token is not an admin's.
   */
  delete(id: number): Promise<void>
  /**
   * Counts the contacts who would get the newsletter if it were sent now.
   *
   * @throws MailkeepError `not_found`: also when its segment was deleted; `validation_failed`: an attribute of its segment is
   *   not declared any more; `unavailable`: the index of an attribute is being filled.
   */
  audience(id: number): Promise<{ count: number }>
  /**
   * Renders a newsletter as a contact would get it. Sends and stores nothing.
   *
   * @param input Content that is given is shown instead of what is stored.
   * @throws MailkeepError `not_found`: no such newsletter or contact; `validation_failed` on the template that is wrong, or
   *   on `public_url`.
   */
  preview(id: number, input: PreviewInput): Promise<Preview>
  /**
   * Sends a newsletter to some addresses now, with sample values and links that do not work. Nothing is stored. Addresses
   * that are suppressed get nothing.
   *
   * @param input At most 10 addresses.
   * @returns What became of each message.
   * @throws MailkeepError `not_found`; `validation_failed`: also on the template that is wrong, on `from_identity_id`,
   *   `mail` or `public_url`.
   */
  test(id: number, input: TestInput): Promise<TestResult[]>
  /**
   * Sends a newsletter now, or schedules it. The recipients are the contacts who match its audience when it starts. A
   * stored job writes a message for each of them, and the mailers of all processes send the messages.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: on `status` when it has started, on the template that is wrong,
   *   on the id of the audience that does not exist, on its empty filter, on `audience.segment` if it filters by an attribute
   *   that is not declared, on `from_identity_id`, `at`, `mail` or `public_url`; `unavailable`: it starts now, and the index of
   *   an attribute is being filled.
   */
  send(id: number, input?: SendInput): Promise<Newsletter>
  /**
   * Stops sending a newsletter until it is resumed. Messages that are being handed over are finished.
   *
   * @throws MailkeepError `not_found`; `validation_failed` on `status`: it is not being sent.
   */
  pause(id: number): Promise<Newsletter>
  /**
   * Continues a newsletter that is paused.
   *
   * @param input `uncertain` also sends again, or skips, the messages whose outcome is not known. With it, a newsletter that
   *   is being sent or was sent can be resumed too. Who got such a message may get it twice. A cancelled newsletter stays
   *   cancelled, so its messages can only be skipped.
   * @throws MailkeepError `not_found`; `validation_failed` on `status`: there is nothing to resume.
   */
  resume(id: number, input?: ResumeInput): Promise<Newsletter>
  /**
   * Ends a newsletter. Its pending messages are skipped. Messages that are being handed over are finished.
   *
   * @throws MailkeepError `not_found`; `validation_failed` on `status`: it is neither scheduled, being sent nor paused.
   */
  cancel(id: number): Promise<Newsletter>
  /**
   * Returns one page of a newsletter's messages, by ascending id.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  messages(newsletterId: number, query?: MessageQueryInput): Promise<Page<Message>>
}

/** Series of mail to each contact: `mailkeep.forClient(id).sequences` */
export interface SequencesApi {
  /**
   * Returns one page of the client's sequences without their steps, by ascending id.
   *
   * @throws MailkeepError `validation_failed`
   */
  list(query?: PageInput): Promise<Page<SequenceSummary>>
  /**
   * Creates a sequence. Contacts who are added to its list from now on are enrolled.
   *
   * @throws MailkeepError `validation_failed`: also when the list does not exist, the sender identity is not verified, or a
   *   template is wrong.
   */
  create(input: SequenceInput): Promise<Sequence>
  /** Returns a sequence with its steps. @throws MailkeepError `not_found` */
  get(id: number): Promise<Sequence>
  /**
   * Changes a sequence. While it is paused, nothing is sent and no contact is enrolled by the list. What became due is sent
   * when it is active again. With another `list_id`, or none, contacts under way continue, and no longer depend on the list.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also when the list does not exist, or the sender identity is
   *   not verified.
   */
  update(id: number, input: SequenceChangeInput): Promise<Sequence>
  /**
   * Continues a sequence that is paused.
   *
   * @param input `uncertain` also sends again, or skips, the messages whose outcome is not known. With it, a sequence that is
   *   active can be resumed too. Who got such a message may get it twice.
   * @throws MailkeepError `not_found`; `validation_failed` on `status`: there is nothing to resume.
   */
  resume(id: number, input?: ResumeInput): Promise<Sequence>
  /**
   * Deletes a sequence with its steps, enrolments and messages.
   *
   * @throws MailkeepError `not_found`
   */
  delete(id: number): Promise<void>
  /**
   * Replaces the steps. Steps with an `id` stay, and contacts who are past them stay past them. A new step is sent to the
   * contacts who are not past its place. A removed step is left out. If no step has an `id`, the steps match the stored
   * ones by their positions. A stored job moves the due times of those under way.
   *
   * @throws MailkeepError `not_found`; `validation_failed`: also on the template that is wrong, as in `steps.0.html`.
   */
  setSteps(id: number, input: StepsInput): Promise<Sequence>
  /**
   * Renders a step, stored or not, as a contact would get it. Sends and stores nothing.
   *
   * @throws MailkeepError `not_found`: no such sequence or contact; `validation_failed`: also on the template that is wrong,
   *   or on `public_url`.
   */
  preview(sequenceId: number, input: StepPreviewInput): Promise<Preview>
  /**
   * Enrols a contact. An enrolment that has ended begins again from the first step; one that is active stays as it is.
   *
   * @throws MailkeepError `not_found`: no such sequence; `validation_failed` on `contact_id`: no such contact, or it has
   *   unsubscribed.
   */
  enrol(sequenceId: number, input: EnrolmentInput): Promise<Enrolment>
  /**
   * Stops the enrolment of a contact. It is no error if it has ended already.
   *
   * @throws MailkeepError `not_found`: no such sequence, or the contact is not enrolled.
   */
  stop(sequenceId: number, contact: ContactKey): Promise<void>
  /**
   * Returns one page of a sequence's enrolments, by ascending id.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  enrolments(sequenceId: number, query?: PageInput): Promise<Page<Enrolment>>
  /**
   * Returns one page of a sequence's messages, by ascending id.
   *
   * @throws MailkeepError `not_found`, `validation_failed`
   */
  messages(sequenceId: number, query?: MessageQueryInput): Promise<Page<Message>>
}
