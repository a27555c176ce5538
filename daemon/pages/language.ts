import { type PageLanguage, pageLanguages } from '../../lib/index.ts'

/** Returns the best language for an `Accept-Language` header (RFC 9110, 12.5.4): the first of equals; else English. */
export function languageOf(accepted: string): PageLanguage {
  let best: { language: PageLanguage; weight: number } | undefined
  for (const range of accepted.split(',')) {
    const [, tag, quality = '1'] = /^\s*([a-z]+|\*)(?:-[a-z\d-]+)?\s*(?:;\s*q=([\d.]+)\s*)?$/i.exec(range) ?? []
    const language = tag === '*' ? 'en' : pageLanguages.find((name) => name === tag?.toLowerCase())
    const weight = Number(quality)
    if (language && weight > (best?.weight ?? 0)) best = { language, weight }
  }
  return best?.language ?? 'en'
}
