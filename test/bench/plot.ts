/** One line of a plot: points of contacts and microseconds. */
export interface Line {
  readonly name: string
  readonly points: readonly (readonly [number, number])[]
}

const [width, height, margin] = [720, 420, 60]
const colours = ['#1b6ca8', '#c2452d', '#3c8d40', '#8a5aab']

/** Plots cost against size as SVG on logarithmic axes. A cost that does not grow is a horizontal line. */
export function plotOf(lines: readonly Line[]): string {
  const points = lines.flatMap((line) => line.points)
  const sizes = [...new Set(points.map(([size]) => size))]
  const costs = decades(points.map(([, cost]) => cost))
  const x = scale(sizes, margin, width - 2 * margin)
  const y = scale(costs, height - margin, margin / 2)
  const marks = [
    ...sizes.map((size) => text(x(size), height - margin + 24, size.toLocaleString('en'), 'middle')),
    ...costs.map((cost) => `${rule(y(cost))}${text(margin - 8, y(cost) + 4, String(cost), 'end')}`),
    text(width / 2, height - 10, 'contacts', 'middle'),
    text(8, 16, 'µs a request, of one core', 'start'),
  ]
  const drawn = lines.map((line, i) => draw(line, colours[i % colours.length]!, x, y))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${[...marks, ...drawn].join('\n')}
</svg>
`
}

function draw(
  { name, points }: Line,
  colour: string,
  x: (size: number) => number,
  y: (cost: number) => number,
): string {
  const places = points.map(([size, cost]) => `${x(size).toFixed(1)},${y(cost).toFixed(1)}`)
  const [size, cost] = points.at(-1)!
  const dots = places.map((place) => `<circle cx="${place.replace(',', '" cy="')}" r="3" fill="${colour}"/>`).join('')
  const line = `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`
  return line + dots + text(x(size) + 8, y(cost) + 4, name, 'start', colour)
}

/** Returns 1, 2 and 5 times the powers of ten around the values. */
function decades(values: readonly number[]): number[] {
  const steps = Array.from({ length: 7 }, (_, i) => [1, 2, 5].map((step) => step * 10 ** i)).flat()
  const from = steps.findLastIndex((step) => step <= Math.min(...values))
  const to = steps.findIndex((step) => step >= Math.max(...values))
  return steps.slice(Math.max(from, 0), to < 0 ? undefined : to + 1)
}

function scale(values: readonly number[], from: number, to: number): (value: number) => number {
  const [low, high] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))]
  return (value) => from + ((Math.log(value) - low) / (high - low || 1)) * (to - from)
}

function rule(y: number): string {
  return `<line x1="${margin}" x2="${width - 2 * margin}" y1="${y}" y2="${y}" stroke="#ddd"/>`
}

function text(x: number, y: number, content: string, anchor: string, colour = '#333'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${colour}">${content}</text>`
}
