/** Parts of the pages that show one record. */
import type { ComponentChildren } from 'preact'
import { useRoute } from 'preact-iso'
import { RequestError } from '../api.ts'
import { LoadError, Loaded, type Loading } from './load.tsx'
import { type Back, Page } from './page.tsx'

/** Returns an id of the address, or NaN if it is none. No record has that, so the API answers that it is not found. */
export function useRecordId(name: string): number {
  const text = useRoute().params[name] ?? ''
  return /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN
}

interface RecordPageProps<T> {
  readonly of: Loading<T>
  /** Id of the record. The one that was shown before is not taken for it. */
  readonly id: number
  /** The kind of record: `Contact`. */
  readonly noun: string
  readonly back: Back
  readonly children: (record: T) => ComponentChildren
}

/** The page of a record, or why it is not shown. Both if it cannot be loaded again. */
export function RecordPage<T extends { readonly id: number }>({ of, id, noun, back, children }: RecordPageProps<T>) {
  if (of.value?.id === id) {
    return (
      <>
        <LoadError of={of} />
        {children(of.value)}
      </>
    )
  }
  const isMissing = of.error instanceof RequestError && of.error.status === 404
  return (
    <Page title={isMissing ? `${noun} not found` : noun} back={back}>
      <Loaded of={{ ...of, value: undefined }}>{() => null}</Loaded>
    </Page>
  )
}
