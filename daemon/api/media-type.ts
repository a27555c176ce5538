/** @returns Whether the parameters of a media type allow UTF-8: no charset, or UTF-8 itself. */
export function isUtf8Of(parameters: readonly string[]): boolean {
  return parameters.every((parameter) => {
    const [name, value] = parameter.split('=', 2)
    return name?.trim().toLowerCase() !== 'charset' || /^(?:utf-8|"utf-8")$/i.test(value?.trim() ?? '')
  })
}

/** @returns Whether a body is not compressed. */
export function isPlain(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(?:identity)?$/i.test(contentEncoding.trim())
}
