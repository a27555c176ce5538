/** Words of the page for what the errors of the API name: fields by their paths, and requests. */

/** Labels of fields, by the names of the API. */
const labels: ReadonlyMap<string, string> = new Map(
  Object.entries({
    at: 'Time',
    attributes: 'Attributes',
    audience: 'Audience',
    colour: 'Colour of buttons',
    contact_id: 'Contact',
    created_after: 'Created after',
    created_before: 'Created before',
    cursor: 'Page',
    delay_seconds: 'Delay in seconds',
    description: 'Description',
    email: 'E-mail',
    emails: 'Addresses',
    event_type: 'Event type',
    events: 'Events',
    exclude_lists: 'On none of these lists',
    exclude_tags: 'With none of these tags',
    expires_in: 'Valid for',
    filters: 'Filters',
    from_identity_id: 'From',
    html: 'HTML',
    indexed: 'Names',
    language: 'Language',
    list_id: 'List',
    lists: 'Lists',
    logo_url: 'URL of the logo',
    name: 'Name',
    overlap_hours: 'Hours',
    postal_address: 'Postal address',
    preheader: 'Preheader',
    reply_to: 'Reply to',
    role: 'Role',
    search: 'Name or e-mail contains',
    segment: 'Segment',
    since: 'Since',
    status: 'Status',
    steps: 'Steps',
    subject: 'Subject',
    tags: 'Tags',
    text: 'Text',
    texts: 'Own texts',
    token: 'Token',
    topics: 'Topics',
    type: 'Type',
    uncertain: 'Uncertain messages',
    url: 'URL',
  }),
)

/**
 * Returns the label of a field that the API names by its path: `Step 1, HTML` for `steps.0.html`. Undefined for an attribute
 * of a contact. One that is named like a field, such as `status`, gets the field's label, because its path is the same.
 */
export function labelOf(path: string): string | undefined {
  const [, group = '', name] = /^(?:filters\.)?(attributes|texts)\.(.+)$/s.exec(path) ?? []
  if (name !== undefined) return `${labels.get(group)}, ${name}`
  const [, step, field = ''] = /^steps\.(\d+)\.(.+)$/.exec(path) ?? []
  if (step !== undefined) return `Step ${Number(step) + 1}, ${labelOf(field) ?? field}`
  const [, whole = '', place] = /^(.+)\.(\d+)$/.exec(path) ?? []
  const label = place === undefined ? undefined : labelOf(whole)
  if (label !== undefined) return `${label}, number ${Number(place) + 1}`
  return labels.get(path.replace(/^(?:filters|audience|contact_id)\./, ''))
}

/** Returns errors of fields by the labels of the fields. An attribute may be named like the label of a field. */
export function labelled(errors: Readonly<Record<string, readonly string[]>>): Record<string, readonly string[]> {
  const byLabel = new Map<string, readonly string[]>()
  for (const [path, messages] of Object.entries(errors)) {
    const label = labelOf(path) ?? path
    byLabel.set(label, [...(byLabel.get(label) ?? []), ...messages])
  }
  return Object.fromEntries(byLabel)
}

/** Replaces what a message advises to users of the API by what the page offers. */
export function adviceOfPage(message: string): string {
  return message.replace(
    /: PUT \/settings\/attributes.*$/,
    '. An admin declares them: “Attributes” on the page of segments.',
  )
}
