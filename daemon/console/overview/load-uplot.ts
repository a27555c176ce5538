/**
 * Loads uPlot when the first plot is shown. uPlot formats numbers in the browser's language as soon as it is loaded, and
 * fails if that is no language: a browser on a server may say `C`.
 */
export async function loadUPlot() {
  try {
    new Intl.NumberFormat(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en' })
  }
  return (await import('uplot')).default
}
