/** One metric with its lines, in Prometheus' text format. */
interface Family {
  readonly head: string[]
  type: string
  readonly samples: Map<string, number>
}

/** Gauges that add up. Of the others, such as ages and counts of the database, every process reports the same thing. */
const additiveGauges =
  /_bytes(?:_\w+)?$|_in_flight$|^mailkeep_(?:writes_waiting|database_connections)$|_open_fds$|^nodejs_active_|_used$/

/**
 * Adds the metrics of several processes: counters, histograms and gauges that add up. Takes the largest of other gauges.
 *
 * @param texts The metrics of the processes that run.
 * @param ended The counters of processes that have ended, so that no counter ever decreases. Their gauges are left out.
 */
export function sumMetrics(texts: readonly string[], ended: readonly string[]): string {
  const families = new Map<string, Family>()
  for (const text of ended) add(families, text, ({ type }) => type !== 'gauge')
  for (const text of texts) add(families, text, () => true)
  return [...families.values()]
    .filter(({ samples }) => samples.size > 0)
    .map(({ head, samples }) => `${[...head, ...[...samples].map(([name, value]) => `${name} ${value}`)].join('\n')}\n`)
    .join('\n')
}

function add(families: Map<string, Family>, text: string, isWanted: (family: Family) => boolean): void {
  let family: Family | undefined
  for (const line of text.split('\n')) {
    const [, keyword, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (keyword) {
      family = families.get(name!) ?? { head: [], type: 'gauge', samples: new Map() }
      families.set(name!, family)
      if (keyword === 'TYPE') family.type = rest!
      if (!family.head.includes(line)) family.head.push(line)
      continue
    }
    const at = line.lastIndexOf(' ')
    if (!family || at < 0 || !isWanted(family)) continue
    addSample(family, line.slice(0, at), Number(line.slice(at + 1)))
  }
}

function addSample({ type, samples }: Family, name: string, value: number): void {
  const known = samples.get(name)
  if (known === undefined) samples.set(name, value)
  else if (type !== 'gauge' || additiveGauges.test(name.replace(/\{.*$/, ''))) samples.set(name, known + value)
  else samples.set(name, Math.max(known, value))
}
