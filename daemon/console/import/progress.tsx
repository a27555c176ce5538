import { useLayoutEffect, useRef } from 'preact/hooks'
import { fieldMessages } from '../../cli-error.ts'
import type { Schemas } from '../api.ts'
import { save } from '../contacts/export-contacts.tsx'
import { labelled } from '../parts/labels.ts'
import { asRequestError, ErrorBox } from '../parts/load.tsx'
import { attempt } from '../parts/notice.tsx'
import { duration, number } from '../parts/time.tsx'
import { rowsAt } from './file.ts'
import type { Running } from './running.ts'

/** The bar with rows, rate and time left; then the report. */
export function Progress({ of }: { of: Running }) {
  const { report, error, rows, total, startedMs, isDryRun } = of
  if (error !== undefined) return <Failure of={of} />
  if (report) return <Report report={report} of={of} />
  const rate = rows / Math.max(1, (Date.now() - startedMs) / 1000)
  return (
    <section>
      <label>
        {isDryRun ? 'Checking' : 'Importing'}: {number(rows)} of about {number(total)} rows
        {rate > 0 && `, ${number(Math.round(rate))} a second, ${duration((total - rows) / rate)} left`}
        <progress max={total} value={Math.min(rows, total)} />
      </label>
      <p class="muted">You may open other pages. Keep this tab open until the file is sent.</p>
    </section>
  )
}

type RefusedRow = Schemas['RefusedRow']

const maxShownRows = 100

/** Scrolls to the outcome, which is below the options of the import. */
function useScroll(outcome: unknown) {
  const place = useRef<HTMLElement>(null)
  useLayoutEffect(() => place.current?.scrollIntoView({ block: 'nearest' }), [outcome])
  return place
}

function Failure({ of: { error, isDryRun } }: { of: Running }) {
  return (
    <section ref={useScroll(error)}>
      <ErrorBox error={error} />
      {!isDryRun && asRequestError(error).status === undefined && (
        <p>Some rows may be stored. Import the file again: what is stored already does not change by that.</p>
      )}
    </section>
  )
}

function Report({ report, of }: { report: Schemas['ImportReport']; of: Running }) {
  const place = useScroll(report)
  const { importNow } = of
  const { total, created, updated, skipped, refused, refused_rows: rows } = report
  const hasAccepted = total > refused
  const counts = [
    ['Rows', total],
    ['Created', created],
    ['Updated', updated],
    ['Skipped', skipped],
    ['Refused', refused],
  ] as const
  return (
    <section role="status" ref={place}>
      <div class="head">
        <h2>{of.isDryRun ? 'Dry run: nothing was stored' : 'Imported'}</h2>
        {importNow && hasAccepted && (
          <button type="button" class="primary" onClick={() => attempt(importNow)}>
            Import these rows
          </button>
        )}
        {!of.isDryRun && (
          <a href={`/console/contacts?${of.listId === undefined ? '' : `list=${of.listId}&`}state=all`}>
            Show the contacts
          </a>
        )}
      </div>
      <dl class="figures">
        {counts.map(([title, value]) =>
          value === undefined ? null : (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{number(value)}</dd>
            </div>
          ),
        )}
      </dl>
      {!hasAccepted && <p>{total === 0 ? 'The file has no rows.' : 'Every row is refused.'}</p>}
      {rows.length > 0 && (
        <>
          <div class="head">
            <h2>Refused rows</h2>
            <button type="button" onClick={() => attempt(() => download(of.file, rows))}>
              Download refused rows
            </button>
          </div>
          <RefusedRows rows={rows.slice(0, maxShownRows)} />
          {rows.length > maxShownRows && (
            <p class="muted">
              The download has {rows.length === refused ? 'all of them' : `the first ${number(rows.length)}`}.
            </p>
          )}
        </>
      )}
    </section>
  )
}

function RefusedRows({ rows }: { rows: readonly RefusedRow[] }) {
  return (
    <table class="lines">
      <thead>
        <tr>
          <th scope="col" class="figure">
            Line
          </th>
          <th scope="col">Reason</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.line}>
            <td class="figure">{number(row.line)}</td>
            <td class="main">{fieldMessages(labelled(row.errors))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Saves the refused rows with their lines and reasons, as CSV. */
async function download(file: File, rows: readonly RefusedRow[]): Promise<void> {
  const texts = await rowsAt(file, new Set(rows.map(({ line }) => line)))
  const cells = rows.map((row) => [
    String(row.line),
    fieldMessages(labelled(row.errors)),
    (texts.get(row.line) ?? '').trimEnd(),
  ])
  const text = [['line', 'reason', 'row'], ...cells].map((row) => row.map(quoted).join(',')).join('\r\n')
  save(new Blob([`${text}\r\n`], { type: 'text/csv' }), 'refused-rows.csv')
}

/** A spreadsheet must not take a cell for a formula. */
function quoted(cell: string): string {
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return `"${safe.replaceAll('"', '""')}"`
}
