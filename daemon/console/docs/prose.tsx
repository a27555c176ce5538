/** Text with `code` between backticks. */
export function Prose({ text }: { text: string | undefined }) {
  if (!text) return null
  return <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={`${at}-${part}`}>{part}</code> : part))}</>
}
