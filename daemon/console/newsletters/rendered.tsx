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
    const { content, sheets } = safeCopy(html)
    root.replaceChildren(content)
    root.adoptedStyleSheets = sheets
  }, [html])
  return (
    <>
      <p>
        <strong>{subject}</strong>
      </p>
      <div class="mail">
        <div ref={place} />
      </div>
      <details>
        <summary>Text</summary>
        <Block>{text}</Block>
      </details>
    </>
  )
}
