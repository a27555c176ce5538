/** @returns whether the parameters of a media type name no charset but UTF-8. */
export function isUtf8Of(parameters: readonly string[]): boolean {
  return parameters.every((parameter) => {
    const [name, value] = parameter.split('=', 2)
    return name?.trim().toLowerCase() !== 'charset' || /^(?:utf-8|"utf-8")$/i.test(value?.trim() ?? '')
  })
}

/** @returns whether a body comes as it is. */
export function isPlain(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(?:identity)?$/i.test(contentEncoding.trim())
}
