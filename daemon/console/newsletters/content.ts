/** Content of a new newsletter or step. A link to unsubscribe is required. */
export const firstContent = `<p>Hello {{ contact.name }},</p>

<p>…</p>

<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>
`

/** What HTML and text may show of a contact. */
export const contentHint =
  'Values: {{ contact.name }}, {{ contact.email }}, {{ contact.attributes.city }}, {{ unsubscribe_url }}, {{ preferences_url }}'
