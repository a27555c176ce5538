import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Field, TextArea, textOf } from '../parts/form.tsx'

/** The content of a newsletter or a step, as the API takes and returns it. */
export interface Content {
  readonly subject: string
  readonly preheader?: string | null
  readonly html: string
  readonly text?: string | null
}

/** Content of a new newsletter or step. A link to unsubscribe is required. */
export const firstContent = `<p>Hello {{ contact.name }},</p>

<p>…</p>

<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>
`

/** The hint of the fields with HTML and text. */
const contentHint =
  'Values: {{ contact.name }}, {{ contact.email }}, {{ contact.attributes.city }}, {{ unsubscribe_url }}, {{ preferences_url }}, {{ client.name }}, {{ client.postal_address }}'

/** The fields of a content. `htmlRows` is the height of the field for the HTML. */
export function ContentFields({ content, htmlRows }: { content: Content; htmlRows: number }) {
  const { subject, preheader, html, text } = content
  return (
    <>
      <Field label="Subject" name="subject" required defaultValue={subject} />
      <Field label="Preheader" name="preheader" defaultValue={preheader ?? ''} />
      <TextArea label="HTML" name="html" rows={htmlRows} defaultValue={html} hint={contentHint} />
      <TextArea label="Text" name="text" rows={5} defaultValue={text ?? ''} hint="Empty: made from the HTML." />
    </>
  )
}

const typingPauseMs = 500

/**
 * What is typed into the form in `place`, for a preview.
 *
 * @param canChange Whether something can be typed. A disabled form has no values.
 * @returns The content after a pause in typing, and a listener for the form's inputs.
 */
export function useTypedContent(stored: Content, place: RefObject<HTMLElement | null>, canChange = true) {
  const [typed, setTyped] = useState<Content>()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const show = () => {
    const form = place.current?.querySelector('form')
    if (form && canChange) setTyped(contentIn(new FormData(form)))
  }
  useLayoutEffect(() => () => clearTimeout(timer.current), [])
  // The fields that were not typed into show what another tab has stored.
  useLayoutEffect(() => {
    if (typed) show()
  }, [stored])
  const showLater = () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(show, typingPauseMs)
  }
  return [(canChange && typed) || stored, showLater] as const
}

/** Reads the fields of `ContentFields`. */
export function contentIn(fields: FormData) {
  return {
    subject: textOf(fields, 'subject'),
    preheader: textOf(fields, 'preheader') || null,
    html: String(fields.get('html') ?? ''),
    text: textOf(fields, 'text') === '' ? null : String(fields.get('text')),
  }
}
