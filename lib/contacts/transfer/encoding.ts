import { MailkeepError } from '../../errors.ts'

/**
 * Passes a file on, and refuses it if its first bytes are UTF-16, as some spreadsheets save it.
 *
 * @throws MailkeepError `invalid_json`
 */
export async function* refuseUtf16(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of source) {
    if (!head) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < 4) continue
    requireNoUtf16(head)
    yield head
    head = undefined
  }
  if (!head) return
  requireNoUtf16(head)
  yield head
}

/** Without a byte order mark, every other byte of Latin text is zero. */
function requireNoUtf16(head: Buffer): void {
  const [first, second, third, fourth] = head
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  const hasZeros = (first === 0 && third === 0) || (second === 0 && fourth === 0)
  if (!hasMark && !hasZeros) return
  throw new MailkeepError(
    'invalid_json',
    'The file is UTF-16. Save it as UTF-8 (in Excel "CSV UTF-8"), or convert it: iconv -f UTF-16 -t UTF-8.',
  )
}
