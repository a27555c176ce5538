import * as v from 'valibot'
import type { Optional } from '../collections.ts'
import { inputLimits } from '../limits.ts'
import { atMost, closedObject, Description, Name, Text } from '../parse.ts'
import { described, type RecordFields } from '../record.ts'

/** Languages that the pages for contacts have texts in. */
export const pageLanguages = ['en', 'de', 'fr', 'es'] as const
export type PageLanguage = (typeof pageLanguages)[number]

/** Texts of the pages for contacts that a client can replace. */
export const pageTextNames = [
  'unsubscribe_title',
  'unsubscribe_text',
  'unsubscribe_button',
  'unsubscribed_title',
  'unsubscribed_text',
  'resubscribe_hint',
  'resubscribe_button',
  'resubscribed_title',
  'resubscribed_text',
  'preferences_title',
  'preferences_text',
  'preferences_empty',
  'preferences_button',
  'preferences_saved',
  'unsubscribe_all_text',
  'unsubscribe_all_button',
  'confirm_title',
  'confirm_text',
  'confirm_button',
  'confirmed_title',
  'confirmed_text',
] as const
export type PageTextName = (typeof pageTextNames)[number]

/** How the client's pages for contacts look. */
export interface PageSettings {
  /** Shown at the top of each page; null shows none. */
  name: string | null
  /** Of buttons, as `#rrggbb`; null is the built-in colour. */
  colour: string | null
  logo_url: string | null
  /** Null follows the language of the contact's browser. */
  language: PageLanguage | null
  /** Own texts by name. The others are built in. */
  texts: Partial<Record<PageTextName, string>>
  /** `client.postal_address` in mails; null is the one of the whole service. */
  postal_address: string | null
}

/** Absent fields are reset to null. */
export interface PageSettingsInput {
  /** 1–255 characters. */
  readonly name?: string | null | undefined
  /** `#rrggbb`. The text on it is black or white, whichever has more contrast. */
  readonly colour?: string | null | undefined
  /** `https` only. At most 2,048 characters. */
  readonly logo_url?: string | null | undefined
  readonly language?: PageLanguage | null | undefined
  /** At most 500 characters each. `{email}` is replaced, and on the page to confirm `{list}`. An empty text hides it, except on buttons. */
  readonly texts?: Optional<Record<PageTextName, string>> | undefined
  /** `client.postal_address` in mails. At most 1,000 characters. Default: that of the whole service. */
  readonly postal_address?: string | null | undefined
}

const PageText = v.pipe(Text, atMost(inputLimits.pageTextCharacters))
const VisibleText = v.pipe(PageText, v.regex(/\S/, 'This must not be empty.'))
const mustBeVisible = /_(?:title|button)$/

export const PageSettingsChange = closedObject({
  name: v.optional(v.nullable(Name), null),
  colour: v.optional(
    v.nullable(v.pipe(Text, v.regex(/^#[0-9A-Fa-f]{6}$/, 'This must be a colour such as #0a58ca.'), v.toLowerCase())),
    null,
  ),
  logo_url: v.optional(
    v.nullable(
      v.pipe(
        Text,
        v.maxLength(inputLimits.urlCharacters, `This must have at most ${inputLimits.urlCharacters} characters.`),
        v.check(isImageUrl, 'This must be an https URL without user and fragment.'),
        v.transform((url) => new URL(url).href),
      ),
    ),
    null,
  ),
  language: v.optional(v.nullable(v.picklist(pageLanguages, `This must be one of ${pageLanguages.join(', ')}.`)), null),
  texts: v.optional(
    closedObject(
      Object.fromEntries(
        pageTextNames.map((name) => [name, v.optional(mustBeVisible.test(name) ? VisibleText : PageText)]),
      ) as unknown as Record<PageTextName, v.OptionalSchema<v.GenericSchema<string>, undefined>>,
    ),
    {},
  ),
  postal_address: v.optional(v.nullable(Description), null),
})

function isImageUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password, hash } = new URL(text)
  // The Content-Security-Policy names the host, which could otherwise contain a semicolon.
  const isPlain = /^(?:[\w.-]+|\[[\da-f:]+\])$/.test(hostname)
  return protocol === 'https:' && isPlain && `${username}${password}${hash}` === ''
}

export const pageSettingsFields: RecordFields<PageSettings> = {
  name: described(v.nullable(v.string()), 'Shown at the top of each page; null shows none.'),
  colour: described(v.nullable(v.string()), 'Colour of buttons, `#rrggbb`; null is the built-in colour.'),
  logo_url: described(v.nullable(v.string()), 'Shown at the top of each page; null shows none.'),
  language: described(v.nullable(v.picklist(pageLanguages)), 'null follows the language of the contact’s browser.'),
  texts: described(v.record(v.string(), v.string()) as never, 'Own texts by name. The others are built in.'),
  postal_address: described(
    v.nullable(v.string()),
    '`client.postal_address` in mails; null is the one of the whole service.',
  ),
}
