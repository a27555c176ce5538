import { endOfString } from '../../lib/internal.ts'

/** Matches any text with an inexact number: at least sixteen characters of digits and points, or an exponent. */
const mayBeInexact = /[\d.]{16}|\d[eE]/

interface Container {
  /** Key or index of the current value. */
  at: string | number
  readonly isArray: boolean
}

/**
 * Finds a number that JSON.parse changes: an id of more than 53 bits, too many digits, or an overflow such as 1e400.
 * Another notation of the same value (1.0, 1e2) is no change. Scans the text, because the parsed value has lost the digits.
 *
 * @param text Valid JSON.
 * @returns The path of the first such number, with dots: `data.ids.0`; undefined when there is none.
 */
export function findInexactNumber(text: string): string | undefined {
  if (!mayBeInexact.test(text)) return undefined
  const path: Container[] = []
  const number = /-?\d[\d.eE+-]*/y
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!
    const container = path.at(-1)
    if (character === '"') {
      const end = endOfString(text, at)
      // This also stores string values as the key. That is harmless, because the next key comes before the next number.
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

/** JSON.parse keeps every decimal number of this many digits whose exponent is not near the limits of floating point. */
const safeDigits = 15
const safeExponent = /^[^eE]*(?:[eE][+-]?\d\d?)?$/

/** The short numbers are found at once, because a body may have 500,000. */
function isExact(written: string): boolean {
  if (written.length <= safeDigits && safeExponent.test(written)) return true
  const value = Number(written)
  return Number.isFinite(value) && decimalOf(written) === decimalOf(JSON.stringify(value))
}

/** Returns a canonical text of a decimal value: sign, significant digits and exponent. */
function decimalOf(written: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written)!
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
