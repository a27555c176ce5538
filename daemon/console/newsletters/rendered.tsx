import { useEffect, useRef } from 'preact/hooks'
import { Block } from '../parts/page.tsx'
import { safeCopy } from './safe-copy.ts'

/** A rendered mail. Scripts and pictures of other hosts are left out. */
export function Rendered({ subject, html, text }: { subject: string; html: string; text: string }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (!element) return
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
    root.replaceChildren(safeCopy(html))
  }, [html])
  return (
    <>
      <p>
        <strong>{subject}</strong>
      </p>
      <div ref={place} class="mail" />
      <details>
        <summary>Text</summary>
        <Block>{text}</Block>
      </details>
    </>
  )
}
