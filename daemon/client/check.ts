/** @throws TypeError: the caller has made a mistake. */
export function check(isRight: boolean, message: string): void {
  if (!isRight) throw new TypeError(message)
}
