/** Plots samples as SVG: one panel over time for each value that must not grow. */
import { bounds, type Sample } from './gauges.ts'

const [width, height, margin] = [760, 150, 60]

export function plotOf(samples: readonly Sample[]): string {
  const keys = Object.keys(bounds) as (keyof typeof bounds)[]
  const panels = keys.map((key, at) => panel(samples, key, at * height))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${keys.length * height + 20}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${panels.join('\n')}
${text(width / 2, keys.length * height + 12, 'minutes', 'middle')}
</svg>
`
}

function panel(samples: readonly Sample[], key: keyof typeof bounds, top: number): string {
  const { name, unit } = bounds[key]
  const most = Math.max(1, ...samples.map((sample) => sample[key]).filter(Number.isFinite)) * 1.1
  const longest = samples.at(-1)!.seconds
  const x = (seconds: number) => margin + (seconds / longest) * (width - 2 * margin)
  const y = (value: number) => top + height - 25 - (value / most) * (height - 45)
  const points = samples
    .filter((sample) => Number.isFinite(sample[key]))
    .map((sample) => `${x(sample.seconds).toFixed(1)},${y(sample[key]).toFixed(1)}`)
  return [
    `<line x1="${margin}" x2="${width - margin}" y1="${y(0)}" y2="${y(0)}" stroke="#999"/>`,
    text(margin, top + 15, `${name} ${unit}`, 'start'),
    text(margin - 8, y(0) + 4, '0', 'end'),
    text(margin - 8, y(most / 1.1) + 4, (most / 1.1).toPrecision(3), 'end'),
    ...[0, 0.25, 0.5, 0.75, 1].map((part) => {
      return text(x(part * longest), y(0) + 15, ((part * longest) / 60).toFixed(1), 'middle')
    }),
    `<polyline points="${points.join(' ')}" fill="none" stroke="#1b6ca8" stroke-width="2"/>`,
  ].join('\n')
}

function text(x: number, y: number, content: string, anchor: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#333">${content}</text>`
}
