/** A lone surrogate. JSON text from UTF-8 has none, so no key of a caller begins with it. */
const mark = '\ud800'
const colon = /\s*:/y

/**
 * JSON.parse for objects whose keys other people choose. V8 13 and 14 (Node 24 to 26) may return a key with an escape as
 * another key: after `{"a":1,"\\":2}`, a process reads `{"a":1,"\n":2}` with the key `\`. Here such keys are parsed alone.
 *
 * @throws SyntaxError This is not JSON.
 */
export function readJson(text: string): ReturnType<typeof JSON.parse> {
  const value = JSON.parse(text) // first, because the scan needs valid JSON
  if (!text.includes('\\')) return value
  const keys: string[] = []
  let marked = ''
  let copied = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    let end = start + 1
    let hasEscape = false
    for (; text[end] !== '"'; end += 1) {
      if (text[end] !== '\\') continue
      hasEscape = true
      end += 1
    }
    colon.lastIndex = end + 1
    if (hasEscape && colon.test(text)) {
      marked += `${text.slice(copied, start)}"${mark}${keys.length}"`
      keys.push(JSON.parse(text.slice(start, end + 1)))
      copied = end + 1
    }
    start = text.indexOf('"', end + 1)
  }
  if (keys.length === 0) return value
  const nameOf = (key: string) => (key.startsWith(mark) ? keys[Number(key.slice(1))]! : key)
  return JSON.parse(marked + text.slice(copied), (_, object) => {
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return object
    return Object.fromEntries(Object.entries(object).map(([key, one]) => [nameOf(key), one]))
  })
}
