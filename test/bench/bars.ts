/** One panel of a plot: a bar for each contender. */
export interface Panel {
  readonly title: string
  readonly bars: readonly Bar[]
}

export interface Bar {
  readonly name: string
  readonly value: number
  readonly label: string
}

const [panelWidth, barHeight, gap, names] = [480, 16, 4, 170]
const panelsPerRow = 2
const colours = { own: '#1b6ca8', peer: '#b8b8b8' }

/** Draws panels of horizontal bars as SVG, each with its own scale that starts at 0. */
export function barsOf(panels: readonly Panel[]): string {
  const drawn: string[] = []
  let top = 0
  for (let first = 0; first < panels.length; first += panelsPerRow) {
    const row = panels.slice(first, first + panelsPerRow)
    for (const [n, panel] of row.entries()) drawn.push(draw(panel, n * panelWidth, top))
    top += Math.max(...row.map(({ bars }) => bars.length)) * (barHeight + gap) + 48
  }
  const size = `${panelsPerRow * panelWidth} ${top}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" font-family="sans-serif" font-size="12">
<title>A panel for each figure, with a bar for each product</title>
<rect width="100%" height="100%" fill="white"/>
${drawn.join('\n')}
</svg>
`
}

function draw({ title, bars }: Panel, left: number, top: number): string {
  const most = Math.max(...bars.map(({ value }) => value).filter(Number.isFinite))
  const lines = bars.map(({ name, value, label }, n) => {
    const y = top + 32 + n * (barHeight + gap)
    const width = Number.isFinite(value) ? (value / most) * (panelWidth - names - 110) : 0
    const colour = name.startsWith('mailkeep') ? colours.own : colours.peer
    return [
      text(left + names - 6, y + 12, name, 'end'),
      `<rect x="${left + names}" y="${y}" width="${width.toFixed(1)}" height="${barHeight}" fill="${colour}"/>`,
      text(left + names + width + 5, y + 12, label, 'start'),
    ].join('')
  })
  return [text(left + names, top + 22, title, 'start', ' font-weight="bold"'), ...lines].join('\n')
}

function text(x: number, y: number, content: string, anchor: string, more = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}" fill="#333"${more}>${content}</text>`
}
