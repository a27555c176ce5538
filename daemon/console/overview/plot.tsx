import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { useLoad } from '../parts/load.tsx'
import { exact, number } from '../parts/time.tsx'

export interface Line {
  readonly label: string
  /** Name of a colour of the style sheet, such as `--good`. */
  readonly colour: string
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  readonly title: string
  readonly times: readonly string[]
  readonly lines: readonly Line[]
  readonly unit?: string
}

const heightPx = 200

/** Lines over time. The same figures are in a table, for people who cannot see the plot. */
export function Plot({ title, times, lines, unit = '' }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const isDark = useDarkness()
  const id = useId()
  const { value: Library } = useLoad(loadUPlot, [])
  useEffect(() => {
    const element = place.current
    if (!element || !Library) return
    const seconds = times.map((time) => Date.parse(time) / 1000)
    const data = [seconds, ...lines.map(({ values }) => [...values])] as uPlot.AlignedData
    const plot = new Library(optionsOf(lines, element.clientWidth), data, element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPx }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, lines, isDark, Library])
  return (
    <section class="plot" aria-labelledby={id}>
      <div class="head">
        <h2 id={id}>{title}</h2>
        <ul class="legend">
          {lines.map(({ label, colour }) => (
            <li key={label} class={`mark ${colour.slice(2)}`}>
              {label}
            </li>
          ))}
        </ul>
      </div>
      <div ref={place} class="canvas" aria-hidden="true" />
      <details>
        <summary>Figures as a table</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus */}
        <section class="scroll" tabIndex={0} aria-label={`Figures of ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">From</th>
                {lines.map(({ label }) => (
                  <th key={label} scope="col" class="figure">
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, at) => (
                <tr key={time}>
                  <td>{exact.format(new Date(time))}</td>
                  {lines.map(({ label, values }) => (
                    <td key={label} class="figure">
                      {values[at] === null ? 'none' : `${number(values[at] ?? 0)}${unit}`}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </section>
  )
}

const dayLabel = '\n{D} {MMM}'

/**
 * Labels of the axis of time, by the seconds between two of them: each label, and what is added to the first one of a year
 * and of a day. uPlot's own labels are American. A day with its year would overlap the next one on a phone.
 */
const timeLabels: uPlot.Axis.Values = [
  [86_400, '{D} {MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', dayLabel, null, dayLabel, null, null, null, 1],
]

const minNumbersWidthPx = 60
const gapBesideNumbersPx = 20

/** Returns the width of an axis in which its longest number fits. */
function widthOfNumbers(ctx: CanvasRenderingContext2D, font: string, labels: readonly string[]): number {
  ctx.font = font
  const widthsPx = labels.map((label) => ctx.measureText(label).width + gapBesideNumbersPx)
  return Math.ceil(Math.max(minNumbersWidthPx, ...widthsPx))
}

function optionsOf(lines: readonly Line[], width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: `12px ${style.fontFamily}`,
  }
  return {
    width,
    height: heightPx,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, values: timeLabels },
      {
        ...axis,
        size: ({ ctx }, labels) => widthOfNumbers(ctx, axis.font, labels ?? []),
        values: (_plot, values) => values.map((value) => (value % 1 === 0 ? number(value) : '')),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour: name }) => ({
        label,
        stroke: colour(name),
        width: 2,
        points: { show: true, size: 4, fill: colour(name) },
        spanGaps: true,
      })),
    ],
  }
}

/** The plot's colours are drawn, so they must be drawn again when the colour scheme changes. */
function useDarkness(): boolean {
  const [query] = useState(() => matchMedia('(prefers-color-scheme: dark)'))
  const [isDark, setDark] = useState(query.matches)
  useEffect(() => {
    const listen = () => setDark(query.matches)
    query.addEventListener('change', listen)
    return () => query.removeEventListener('change', listen)
  }, [query])
  return isDark
}

/**
 * Loads uPlot when the first plot is shown. uPlot formats numbers in the browser's language as soon as it is loaded, and
 * fails if that is no language: a browser on a server may say `C`.
 */
async function loadUPlot() {
  try {
    new Intl.NumberFormat(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en' })
  }
  return (await import('uplot')).default
}
