import { useLocation, useRoute } from 'preact-iso'
import { answerOf, api, dataOf, type Schemas } from '../api.ts'
import { confirm } from '../parts/dialog.tsx'
import { Loaded, useLoad, useReload } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { number, Time } from '../parts/time.tsx'
import { may } from '../session.ts'
import { Composer } from './composer.tsx'
import { Messages } from './messages.tsx'
import { NewsletterStatus } from './newsletters.tsx'
import { SendButtons } from './send-buttons.tsx'

type Newsletter = Schemas['Newsletter']

const back = { href: '/console/newsletters', text: 'Newsletters' }

export function NewsletterPage() {
  const newsletterId = Number(useRoute().params.newsletterId)
  const path = { params: { path: { newsletterId } } }
  const newsletter = useLoad(() => dataOf(api.GET('/api/v1/newsletters/{newsletterId}', path)), [newsletterId])
  const { value, error } = newsletter
  useReload(newsletter, value !== undefined && (isUnderWay(value) || value.counts.pending > 0))
  if (!value || error !== undefined) {
    return (
      <Page title={`Newsletter ${newsletterId}`} back={back}>
        <Loaded of={newsletter}>{() => null}</Loaded>
      </Page>
    )
  }
  return <NewsletterView newsletter={value} set={newsletter.set} />
}

function isUnderWay({ status }: Newsletter): boolean {
  return status === 'scheduled' || status === 'sending' || status === 'paused'
}

function NewsletterView({ newsletter, set }: { newsletter: Newsletter; set(newsletter: Newsletter): void }) {
  const { route } = useLocation()
  const path = { params: { path: { newsletterId: newsletter.id } } }
  const audience = useLoad(
    () => dataOf(api.GET('/api/v1/newsletters/{newsletterId}/audience', path)),
    [newsletter.id, newsletter.updated_at],
  )
  const remove = async () => {
    const agreed = await confirm({
      title: 'Delete this newsletter?',
      text: <p>Its messages are deleted, too. This cannot be undone.</p>,
      action: 'Delete',
      isDangerous: true,
    })
    const call = () => answerOf(api.DELETE('/api/v1/newsletters/{newsletterId}', path))
    if (agreed && (await attempt(call, 'The newsletter is deleted.'))) route(back.href)
  }
  const { status } = newsletter
  const canChange = (status === 'draft' && may('member')) || (status === 'scheduled' && may('admin'))
  const canDelete = !isUnderWay(newsletter) && may(status === 'draft' ? 'member' : 'admin')
  return (
    <Page
      title={newsletter.name || newsletter.subject}
      back={back}
      actions={
        <>
          {may('admin') && <SendButtons newsletter={newsletter} audience={audience.value?.count} set={set} />}
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
              <Time at={newsletter.scheduled_at} />
            </dd>
          </>
        )}
        <dt>Audience now</dt>
        <dd>
          {audience.value
            ? `${number(audience.value.count)} ${audience.value.count === 1 ? 'contact' : 'contacts'}`
            : '…'}
        </dd>
        {newsletter.started_at && (
          <>
            <dt>Started</dt>
            <dd>
              <Time at={newsletter.started_at} />
            </dd>
            <dt>Finished</dt>
            <dd>
              <Time at={newsletter.finished_at} none="not yet" />
            </dd>
          </>
        )}
      </dl>
      {newsletter.started_at && <Progress counts={newsletter.counts} />}
      <Composer newsletter={newsletter} canChange={canChange} set={set} />
      {newsletter.started_at && (
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
