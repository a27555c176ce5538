/** Matches every text with an escape in a key, and some others. */
const mayHaveEscapedKey = /\\.[^"\\]*"\s*:/
const separators = ' \t\n\r,:'

/**
 * JSON.parse for objects whose keys other people choose. V8 13 and 14 (Node 24 to 26) may return a key with an escape as
 * another key: after `{"a":1,"\\":2}`, a process reads `{"a":1,"\n":2}` with the key `\`. Here such a key is parsed apart
 * from its object.
 *
 * @throws SyntaxError This is not JSON.
 */
export function readJson(text: string): ReturnType<typeof JSON.parse> {
  const value = JSON.parse(text) // also checks the syntax
  return mayHaveEscapedKey.test(text) ? readValid(text) : value
}

/** Reads valid JSON. Without recursion, because JSON.parse reads any depth. */
function readValid(text: string): unknown {
  const root: unknown[] = []
  const parents: object[] = []
  let container: object = root
  let key: string | undefined
  const add = (value: unknown) => {
    if (Array.isArray(container)) container.push(value)
    else Object.defineProperty(container, key!, { value, writable: true, enumerable: true, configurable: true })
    key = undefined
  }
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!
    if (character === '{' || character === '[') {
      const value = character === '{' ? {} : []
      add(value)
      parents.push(container)
      container = value
    } else if (character === '}' || character === ']') container = parents.pop()!
    else if (!separators.includes(character)) {
      const end = character === '"' ? endOfString(text, at) : endOfWord(text, at)
      const value = JSON.parse(text.slice(at, end + 1))
      if (key === undefined && !Array.isArray(container)) key = value
      else add(value)
      at = end
    }
  }
  return root[0]
}

/** @returns The position of the closing quote of the string that begins at `start`. */
export function endOfString(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}

/** @returns The position of the last character of a number, `true`, `false` or `null`. */
function endOfWord(text: string, start: number): number {
  let end = start
  while (/[\w.+-]/.test(text[end + 1] ?? '')) end += 1
  return end
}
