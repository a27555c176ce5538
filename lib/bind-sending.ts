/** The tables of the operations that send. `bind.ts` has the others. */
import * as enrolments from './sending/enrolments.ts'
import * as messages from './sending/messages.ts'
import * as newsletters from './sending/newsletters.ts'
import * as previews from './sending/previews.ts'
import * as sending from './sending/sending.ts'
import * as sequences from './sending/sequences.ts'

/** Mail to many contacts: `mailkeep.forClient(id).newsletters` */
export const newslettersApi = {
  list: newsletters.listNewsletters,
  create: newsletters.createNewsletter,
  get: newsletters.getNewsletterWithAudience,
  update: newsletters.updateNewsletter,
  delete: newsletters.deleteNewsletter,
  audience: newsletters.countAudience,
  preview: previews.previewNewsletter,
  test: previews.testNewsletter,
  send: sending.sendNewsletter,
  pause: sending.pauseNewsletter,
  resume: sending.resumeNewsletter,
  cancel: sending.cancelNewsletter,
  messages: messages.listMessages,
}

/** Series of mail to each contact: `mailkeep.forClient(id).sequences` */
export const sequencesApi = {
  list: sequences.listSequences,
  create: sequences.createSequence,
  get: sequences.getSequence,
  update: sequences.updateSequence,
  resume: sequences.resumeSequence,
  delete: sequences.deleteSequence,
  setSteps: sequences.setSteps,
  preview: previews.previewStep,
  enrol: enrolments.enrolContact,
  stop: enrolments.stopEnrolment,
  enrolments: enrolments.listEnrolments,
  messages: messages.listMessagesOfSequence,
}
