/** A type of event. In a narrow place it breaks between its words. */
export function EventName({ of }: { of: string }) {
  return of.split(/(?<=[._])/).map((word) => (
    <span key={word} class="whole">
      {word}
    </span>
  ))
}
