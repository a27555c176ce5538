/** Only these can be inexact: sixteen digits and more, a decimal point between them, or an exponent. */
const perhapsInexact = /[\d.]{16}|\d[eE]/

interface Container {
  /** The key or position of the value that is read now. */
  at: string | number
  readonly isArray: boolean
}

/**
 * Finds a number that JSON.parse has changed: an id of more than 53 bits, too many digits, or an overflow such as 1e400.
 * Another spelling of the same value (1.0, 1e2) is no change. Looks at the text, since the parsed value no longer tells.
 *
 * @param text Valid JSON.
 * @returns The path of the first such number, with dots: `data.ids.0`; undefined when there is none.
 */
export function findInexactNumber(text: string): string | undefined {
  if (!perhapsInexact.test(text)) return undefined
  const path: Container[] = []
  const number = /-?\d[\d.eE+-]*/y
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!
    const container = path.at(-1)
    if (character === '"') {
      const end = endOfString(text, at)
      // A string that is a value takes the place of its key for a moment: no number can come before the next key.
      if (container && !container.isArray) container.at = text.slice(at, end + 1)
      at = end
    } else if (character === '{') path.push({ at: '', isArray: false })
    else if (character === '[') path.push({ at: 0, isArray: true })
    else if (character === '}' || character === ']') path.pop()
    else if (character === ',' && container?.isArray) container.at = Number(container.at) + 1
    else if (character === '-' || (character >= '0' && character <= '9')) {
      number.lastIndex = at
      const written = number.exec(text)![0]
      if (!isExact(written)) return path.map(nameOf).join('.')
      at += written.length - 1
    }
  }
  return undefined
}

function nameOf({ at }: Container): string {
  return typeof at === 'number' ? String(at) : (JSON.parse(at) as string)
}

/** @returns where the string that begins at `start` has its closing quote. */
function endOfString(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}

function isExact(written: string): boolean {
  const value = Number(written)
  return Number.isFinite(value) && decimalOf(written) === decimalOf(JSON.stringify(value))
}

/** One text for each decimal value: sign, significant digits and exponent. */
function decimalOf(written: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written)!
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
