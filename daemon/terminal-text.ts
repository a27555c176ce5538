/** Replaces control characters, because names and messages could contain terminal escape sequences. */
export function terminalText(text: string): string {
  return text.replace(/\p{C}/gu, '?')
}
