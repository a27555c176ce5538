/** The style sheet of the pages. A module instead of a file, so that bundles have it. */
import { contrast, textColourOn } from './colour.ts'

const light = { page: '#f4f5f7', card: '#ffffff', text: '#1b1f24', muted: '#57606a', line: '#d8dde3' }
const dark = { page: '#111418', card: '#1b1f24', text: '#e8ebef', muted: '#a3adb8', line: '#343b44' }

/** The built-in colour of buttons. */
const usualColour = '#2566c8'

/** Minimum contrast of buttons and check boxes with their surroundings (WCAG 2.2, 1.4.11). */
const minContrast = 3

/** @param colour Colour of buttons, `#rrggbb`. */
export function styleSheet(colour = usualColour): string {
  return `${variables(light, colour)}
@media (prefers-color-scheme: dark) {
${variables(dark, colour)}
}
:root { --colour: ${colour}; --on-colour: ${textColourOn(colour)}; color-scheme: light dark; }
${rules}`
}

function variables(theme: typeof light, colour: string): string {
  const edge = contrast(colour, theme.card) < minContrast ? theme.muted : colour
  const values = Object.entries({ ...theme, edge }).map(([name, value]) => `--${name}: ${value};`)
  return `:root { ${values.join(' ')} }`
}

const rules = `* { box-sizing: border-box; }
body { margin: 0; padding: 3rem 1rem; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 32rem; margin: 0 auto; padding: 2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem; overflow-wrap: anywhere; }
.sender { display: flex; align-items: center; gap: .75rem; margin: 0 0 1.5rem; padding: 0 0 1.25rem;
  border-bottom: 1px solid var(--line); font-weight: 600; }
.sender img { display: block; max-width: 10rem; max-height: 3rem; }
h1 { margin: 0 0 .75rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 1.25rem; white-space: pre-line; }
.hint { color: var(--muted); }
form { margin: 0; }
form + p, .apart { margin-top: 1.75rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
button { min-height: 2.75rem; padding: .5rem 1.25rem; border: 1px solid var(--edge); border-radius: .5rem;
  background: var(--colour); color: var(--on-colour); font: inherit; font-weight: 600; cursor: pointer; }
button.plain { border-color: var(--muted); background: transparent; color: var(--text); }
button:hover { filter: brightness(1.08); }
button.plain:hover { filter: none; text-decoration: underline; }
:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
.notice { padding: .75rem 1rem; border: 1px solid var(--line); border-inline-start: .25rem solid var(--edge);
  border-radius: .5rem; background: var(--page); }
fieldset { margin: 0 0 1.5rem; padding: 0; border: 0; }
legend { width: 100%; margin: 0 0 1rem; padding: 0; }
ul { margin: 0; padding: 0; list-style: none; }
ul ul { margin: 0 0 .5rem 1.75rem; }
li > label { display: flex; gap: .75rem; align-items: flex-start; min-height: 2.75rem; padding: .5rem 0; cursor: pointer; }
.lists > li { border-top: 1px solid var(--line); }
.lists > li > label { font-weight: 600; }
input[type=checkbox] { flex: none; width: 1.25rem; height: 1.25rem; margin: .125rem 0 0; accent-color: var(--edge); }
small { display: block; color: var(--muted); font-size: .875rem; font-weight: 400; }
@media (max-width: 30rem) {
  body { padding: 0; background: var(--card); }
  main { max-width: none; padding: 1.5rem 1.25rem; border: 0; border-radius: 0; }
  button { width: 100%; }
}
`
