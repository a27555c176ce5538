/** Summarises where a profiled server spent its time: functions sorted by self time. */
import { readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const maxFunctions = 40

/** Prints a summary of the latest profile in `output` and names the file after the benchmark. */
export async function summariseProfiles(output: string, bundled: string, figure: string): Promise<string> {
  const files = (await readdir(output)).filter((name) => name.startsWith('CPU.')).sort()
  const moduleOf = modulesOf(await readFile(join(bundled, 'main.cjs'), 'utf8'))
  const texts = []
  for (const [n, file] of files.entries()) {
    const name = `${figure}-${n}.cpuprofile`
    await rename(join(output, file), join(output, name))
    texts.push(`${name}\n${topOf(JSON.parse(await readFile(join(output, name), 'utf8')), moduleOf)}`)
  }
  return texts.join('\n\n')
}

function topOf({ nodes, samples, timeDeltas }: CpuProfile, moduleOf: (line: number) => string): string {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const place = url.endsWith('main.cjs') ? moduleOf(lineNumber) : url
      return [id, `${functionName || '(anonymous)'} ${place}`.trim()]
    }),
  )
  const spent = new Map<string, number>()
  let allUs = 0
  for (const [i, id] of samples.entries()) {
    const name = names.get(id)!
    if (name === '(idle)') continue
    spent.set(name, (spent.get(name) ?? 0) + timeDeltas[i]!)
    allUs += timeDeltas[i]!
  }
  const top = [...spent].sort(([, a], [, b]) => b - a).slice(0, maxFunctions)
  return top.map(([name, us]) => `${((us / allUs) * 100).toFixed(1).padStart(5)} %  ${name}`).join('\n')
}

/** Finds each module by the comment that the bundler puts before it. */
function modulesOf(bundle: string): (line: number) => string {
  const starts = bundle.split('\n').flatMap((text, line) => {
    const name = /^\s*\/\/ ((?:lib|daemon|node_modules|\.\.)\S*\.[cm]?[jt]s)$/.exec(text)?.[1]
    return name ? [{ line, name }] : []
  })
  return (line) => starts.findLast((start) => start.line <= line)?.name ?? ''
}
