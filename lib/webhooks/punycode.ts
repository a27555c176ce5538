/** Punycode (RFC 3492) of one label, without its `xn--`. Written out here because Node's own results depend on its version. */
const base = 36
const tMin = 1
const tMax = 26
const skew = 38
const damp = 700
const initialBias = 72
const firstNonAscii = 0x80
const lastCodePoint = 0x10ffff

/**
 * @param encoded Lower-case ASCII letters, digits and hyphens, at most 59.
 * @returns The label in Unicode; undefined when `encoded` is not Punycode of a label with a character beyond ASCII.
 */
export function decodePunycode(encoded: string): string | undefined {
  const delimiter = encoded.lastIndexOf('-')
  const output = [...encoded.slice(0, Math.max(delimiter, 0))].map((character) => character.codePointAt(0)!)
  let codePoint = firstNonAscii
  let bias = initialBias
  let i = 0
  for (let at = delimiter + 1; at < encoded.length; ) {
    const before = i
    let weight = 1
    for (let k = base; ; k += base) {
      const digit = digitOf(encoded.charCodeAt(at++))
      if (digit === undefined) return undefined
      i += digit * weight
      const threshold = thresholdAt(k, bias)
      if (digit < threshold) break
      weight *= base - threshold
    }
    const length = output.length + 1
    bias = adapt(i - before, length, before === 0)
    codePoint += Math.floor(i / length)
    i %= length
    if (codePoint > lastCodePoint || (codePoint >= 0xd800 && codePoint <= 0xdfff)) return undefined
    output.splice(i, 0, codePoint)
    i += 1
  }
  return output.some((each) => each >= firstNonAscii) ? String.fromCodePoint(...output) : undefined
}

/** @returns undefined at the end of the text (NaN) and for a hyphen. */
function digitOf(code: number): number | undefined {
  if (code >= 0x61 && code <= 0x7a) return code - 0x61
  if (code >= 0x30 && code <= 0x39) return code - 0x30 + 26
  return undefined
}

function thresholdAt(k: number, bias: number): number {
  return Math.min(Math.max(k - bias, tMin), tMax)
}

function adapt(delta: number, length: number, first: boolean): number {
  let rest = first ? Math.floor(delta / damp) : Math.floor(delta / 2)
  rest += Math.floor(rest / length)
  let k = 0
  for (; rest > ((base - tMin) * tMax) / 2; k += base) rest = Math.floor(rest / (base - tMin))
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + skew))
}
