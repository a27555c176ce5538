import { useState } from 'preact/hooks'
import { answerOf, api } from '../api.ts'
import { attempt } from '../parts/notice.tsx'
import type { Filters } from './filters.tsx'

/** Downloads the contacts that match the filters, as CSV. */
export function ExportButton({ filters }: { filters: Filters }) {
  const [isBusy, setBusy] = useState(false)
  const download = async () => {
    setBusy(true)
    await attempt(() => exportContacts(filters))
    setBusy(false)
  }
  return (
    <button type="button" disabled={isBusy} onClick={download}>
      {isBusy ? 'Exporting…' : 'Export CSV'}
    </button>
  )
}

async function exportContacts(filters: Filters): Promise<void> {
  const query = { ...filters, format: 'csv' } as const
  save(await answerOf(api.GET('/api/v1/contacts/export', { params: { query }, parseAs: 'blob' })), 'contacts.csv')
}

/** Offers a file for saving. */
export function save(contents: Blob, name: string): void {
  const url = URL.createObjectURL(contents)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser reads the file after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
