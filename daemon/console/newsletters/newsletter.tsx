import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { plural } from '../../progress.ts'
import { answerOf, api, dataOf, RequestError, type Schemas } from '../api.ts'
import { confirmAndRun } from '../parts/dialog.tsx'
import type { SaveState } from '../parts/form.tsx'
import { LoadError, type Loading, useLoad, useReload } from '../parts/load.tsx'
import { attempt, say } from '../parts/notice.tsx'
import { Later, Page, useOpenView } from '../parts/page.tsx'
import { RecordPage, useRecordId } from '../parts/record.tsx'
import { number, Time } from '../parts/time.tsx'
import { notSaved, whenSaved } from '../parts/unsaved.tsx'
import { may } from '../session.ts'
import { Composer } from './composer.tsx'
import { Messages } from './messages.tsx'
import { NewsletterStatus } from './newsletters.tsx'
import { SendButtons } from './send-buttons.tsx'

type Newsletter = Schemas['NewsletterWithAudience']

const back = { href: '/console/newsletters', text: 'Newsletters' }

export function NewsletterPage() {
  const newsletterId = useRecordId('newsletterId')
  const path = { params: { path: { newsletterId } } }
  const newsletter: Loading<Newsletter> = useLoad(() => {
    // Only the first answer has the audience, because it takes longer to count.
    const query = { audience: newsletter.value?.id !== newsletterId }
    return dataOf(api.GET('/api/v1/newsletters/{newsletterId}', { params: { ...path.params, query } }))
  }, [newsletterId])
  const { value } = newsletter
  useReload(newsletter, value !== undefined && (isUnderWay(value) || value.counts.pending > 0))
  return (
    <RecordPage of={newsletter} id={newsletterId} noun="Newsletter" back={back}>
      {(found) => <NewsletterView newsletter={found} set={newsletter.set} reload={newsletter.reload} />}
    </RecordPage>
  )
}

function isUnderWay({ status }: Newsletter): boolean {
  return status === 'scheduled' || status === 'sending' || status === 'paused'
}

interface NewsletterViewProps {
  readonly newsletter: Newsletter
  readonly set: (newsletter: Newsletter) => void
  readonly reload: () => void
}

function NewsletterView({ newsletter, set, reload }: NewsletterViewProps) {
  const openView = useOpenView()
  const state = useSignal<SaveState>('saved')
  const path = { params: { path: { newsletterId: newsletter.id } } }
  const { status, started_at, current_audience } = newsletter
  const audience = useLoad(async () => {
    if (started_at !== null) return undefined
    return current_audience ?? (await dataOf(api.GET('/api/v1/newsletters/{newsletterId}/audience', path)))
  }, [newsletter.id, newsletter.updated_at, started_at])
  /** Loads the newsletter again if its status refuses a change: another tab or program has changed that. */
  const run = async <T,>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call()
    } catch (error) {
      if (error instanceof RequestError && error.fields.status) reload()
      throw error
    }
  }
  const store = (call: () => Promise<Newsletter>) => run(async () => set(await call()))
  const copy = () =>
    attempt(async () => {
      await whenSaved(state)
      const stored = await dataOf(api.GET('/api/v1/newsletters/{newsletterId}', path))
      const { name, subject, preheader, html, text, reply_to, from_identity_id, audience } = stored
      const body = { name, subject, preheader, html, text, reply_to, from_identity_id, audience }
      const { id } = await dataOf(api.POST('/api/v1/newsletters', { body }))
      openView(`/console/newsletters/${id}`)
    }, 'The copy is a new draft.')
  const remove = async () => {
    const question = {
      title: 'Delete this newsletter?',
      text: <p>Its messages are deleted, too. This cannot be undone.</p>,
      action: 'Delete',
    }
    const call = () => answerOf(api.DELETE('/api/v1/newsletters/{newsletterId}', path))
    if (await confirmAndRun(question, () => run(call), 'The newsletter is deleted.')) openView(back.href)
  }
  const canChange = (status === 'draft' && may('member')) || (status === 'scheduled' && may('admin'))
  // It may be sent at its time, or from elsewhere, while someone types.
  useEffect(() => {
    if (canChange || state.peek() === 'saved') return
    state.value = 'saved'
    say('This newsletter can no longer be changed. The last change was not saved.')
  }, [canChange])
  const isToNoContact = newsletter.finished_at !== null && newsletter.counts.recipients === 0
  const canDelete = !isUnderWay(newsletter) && may(status === 'draft' ? 'member' : 'admin')
  return (
    <Page
      title={newsletter.name || newsletter.subject}
      back={back}
      actions={
        <>
          {state.value === 'unsaved' && <span class="muted">{notSaved}</span>}
          {state.value !== 'unsaved' && may('admin') && (
            <SendButtons newsletter={newsletter} state={state} store={store} />
          )}
          {may('member') && (
            <button type="button" onClick={copy}>
              Copy
            </button>
          )}
          {canDelete && (
            <button type="button" class="danger" onClick={remove}>
              Delete
            </button>
          )}
        </>
      }
    >
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          <NewsletterStatus status={newsletter.status} /> {newsletter.error}
        </dd>
        {newsletter.scheduled_at && (
          <>
            <dt>Scheduled</dt>
            <dd>
              <Time at={newsletter.scheduled_at} isExact />
            </dd>
          </>
        )}
        {started_at === null ? (
          <>
            <dt>Audience now</dt>
            <dd>
              <LoadError of={audience} />
              {audience.error === undefined && (audience.value ? plural(audience.value.count, 'contact') : '…')}
            </dd>
          </>
        ) : (
          <>
            <dt>Started</dt>
            <dd>
              <Time at={started_at} />
            </dd>
            <dt>Finished</dt>
            <dd>
              <Time at={newsletter.finished_at} none="not yet" />
            </dd>
          </>
        )}
      </dl>
      {started_at === null ? (
        <Composer newsletter={newsletter} canChange={canChange} store={store} state={state} />
      ) : (
        <>
          {isToNoContact ? (
            <section>
              <p>It was sent to no contact.</p>
            </section>
          ) : (
            <Progress counts={newsletter.counts} />
          )}
          <Later title="Content">
            <Composer newsletter={newsletter} canChange={false} store={store} state={state} />
          </Later>
          {!isToNoContact && (
            <section>
              <h2>Messages</h2>
              <Messages
                version={`${newsletter.id} ${JSON.stringify(newsletter.counts)}`}
                list={(query) =>
                  answerOf(
                    api.GET('/api/v1/newsletters/{newsletterId}/messages', {
                      params: { path: { newsletterId: newsletter.id }, query },
                    }),
                  )
                }
              />
            </section>
          )}
        </>
      )}
    </Page>
  )
}

function Progress({ counts }: { counts: Schemas['MessageCounts'] }) {
  const { recipients, pending } = counts
  const entries: readonly (readonly [string, number])[] = Object.entries(counts)
  return (
    <section>
      <label>
        {number(recipients - pending)} of {number(recipients)} messages are final
        <progress max={Math.max(1, recipients)} value={recipients - pending} />
      </label>
      <dl class="figures">
        {entries.map(([name, count]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{number(count)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
