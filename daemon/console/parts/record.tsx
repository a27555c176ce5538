/** Parts of the pages that show one record. */
import { useRoute } from 'preact-iso'
import { RequestError } from '../api.ts'
import { Loaded, type Loading } from './load.tsx'
import { type Back, Page } from './page.tsx'

/** Returns an id of the address, or NaN if it is none. No record has that, so the API answers that it is not found. */
export function useRecordId(name: string): number {
  const text = useRoute().params[name] ?? ''
  return /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN
}

interface NoRecordProps {
  readonly of: Loading<unknown>
  /** What the record is: `Contact`. */
  readonly noun: string
  readonly back: Back
}

/** The page of a record that is not loaded yet, or not found. */
export function NoRecord({ of, noun, back }: NoRecordProps) {
  const isMissing = of.error instanceof RequestError && of.error.status === 404
  return (
    <Page title={isMissing ? `${noun} not found` : noun} back={back}>
      <Loaded of={of}>{() => null}</Loaded>
    </Page>
  )
}
