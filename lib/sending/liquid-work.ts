/**
 * Bounds the work of a template. Liquid looks at the clock between tags only. One filter or condition can take minutes,
 * and a short template can make a huge array. So each filter, condition and read variable looks at the clock, and filters
 * are charged for the arrays that they take and for what they return.
 */
import type * as liquidjs from 'liquidjs'
// @ts-expect-error The types are those of the package.
import * as modules from 'liquidjs/dist/liquid.node.mjs'

const { CaseTag, Context, CycleTag, Drop, defaultOperators } = modules as typeof liquidjs

/** Maximum work of one rendering: one unit for each character that it writes, and for what follows. */
const maxWork = 4_000_000

/** Work of one tag, text or output. This and what follows is about the time that 25 characters of a filter take. */
export const workPerTemplate = 60

/** Work of one operator of a condition, value of `when`, or filter. */
const workPerStep = 20

/** Work of one name in the path of a variable. */
const workPerRead = 15

/** Work of one argument of a filter. */
const workPerArgument = 5

/** Work of one element of an array or field of an object, besides its characters. */
const workPerElement = 50

/** Characters that a search compares in one unit of work. Each place of the text may take the length of the pattern. */
const comparisonsPerWork = 64

/** Work of one name in a date, such as %A, and of the filters that write one. Names of days and months are slow. */
const workPerName = 2000
const nameInDate = /%[^a-z]*[abhc]/gi

/** Such a filter evaluates an expression for each element, or puts arrays into arrays. */
function isUnbounded(filter: string): boolean {
  return filter.endsWith('_exp') || filter === 'group_by'
}

/** Filters that would put a list into a list. The text of such a list can be exponentially long. */
const elementFilters: ReadonlySet<string> = new Set(['push', 'unshift'])

/** Filters that search a text for another. */
const searchFilters: ReadonlySet<string> = new Set([
  'split',
  'remove',
  'remove_first',
  'remove_last',
  'replace',
  'replace_first',
  'replace_last',
])

/** The state of a rendering, with its limits. */
export class BoundedContext extends Context {
  #leftWork = maxWork

  /** @throws Error The rendering has done too much, or takes too much time. */
  use(work: number): void {
    this.#leftWork -= work
    if (!(this.#leftWork >= 0)) throw new Error('work limit exceeded')
    this.renderLimit.check(performance.now())
  }

  /** Also stops conditions of many parts, and filters that read a property of each element. */
  override readProperty(...args: Parameters<liquidjs.Context['readProperty']>): unknown {
    this.use(workPerRead)
    return super.readProperty(...args)
  }

  /** Filters read properties of elements in a context of their own. */
  override spawn(scope: object = {}): BoundedContext {
    const { sync, globals, strictVariables, ownPropertyOnly, renderLimit, memoryLimit, liquid } = this
    const limits = { renderLimit, memoryLimit, ...(liquid && { liquid }) }
    return new BoundedContext(scope, this.opts, { sync, globals, strictVariables, ownPropertyOnly }, limits)
  }

  /** Charges for the elements of an array or object. The length of a text is charged by Liquid, or where it was made. */
  charge(value: unknown): void {
    if (typeof value !== 'object' || value === null || value instanceof Drop) return
    for (const element of Array.isArray(value) ? value : Object.values(value)) {
      this.use(workPerElement + (typeof element === 'string' ? element.length : 0))
      this.charge(element)
    }
  }

  chargeSearch(text: unknown, pattern: unknown): void {
    this.use((lengthOf(text) * lengthOf(pattern)) / comparisonsPerWork)
  }
}

/** Length of the value as a text. */
function lengthOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, element) => sum + lengthOf(element), 0)
  // Liquid does not search objects.
  const isSearched = typeof value !== 'object' || value instanceof Drop
  return value === undefined || !isSearched ? 0 : String(value).length
}

/** Operators of conditions that look at the clock, and are charged for arrays and searches. */
export const boundedOperators: liquidjs.Operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, operator]) => [
    name,
    (...operands: [unknown, unknown, BoundedContext]) => {
      const ctx = operands.at(-1) as BoundedContext
      const values = operands.slice(0, -1)
      ctx.use(workPerStep)
      for (const value of values) ctx.charge(value)
      if (name === 'contains') ctx.chargeSearch(values[0], values[1])
      return (operator as (...operands: unknown[]) => unknown)(...operands)
    },
  ]),
) as never

class BoundedCycle extends CycleTag {
  override *render(ctx: liquidjs.Context, emitter: liquidjs.Emitter): Generator<unknown, unknown, unknown> {
    // For each group Liquid stores the text of the tag.
    ctx.memoryLimit.use(this.token.end - this.token.begin)
    return yield* super.render(ctx, emitter)
  }
}

class BoundedCase extends CaseTag {
  override *render(ctx: liquidjs.Context, emitter: liquidjs.Emitter): Generator<unknown, void, unknown> {
    // Each value of `when` is compared with this one.
    const bounded = ctx as BoundedContext
    bounded.charge(yield this.value.value(ctx, false))
    bounded.use(workPerStep * this.branches.reduce((count, { values }) => count + values.length, 0))
    yield* super.render(ctx, emitter)
  }
}

/** Bounds the filters and tags of an engine, which must render with a `BoundedContext`. */
export function boundWork(liquid: liquidjs.Liquid): void {
  for (const [name, filter] of Object.entries(liquid.filters)) {
    if (isUnbounded(name)) delete liquid.filters[name]
    else if (typeof filter === 'function') liquid.registerFilter(name, boundedFilter(name, filter))
  }
  liquid.registerTag('case', BoundedCase)
  liquid.registerTag('cycle', BoundedCycle)
}

type Handler = (...inputs: unknown[]) => unknown
type FilterThis = { readonly context: liquidjs.Context }

function boundedFilter(name: string, filter: Handler): Handler {
  return function* (this: FilterThis, ...inputs: unknown[]): Generator<unknown, unknown, unknown> {
    const context = this.context as BoundedContext
    context.use(workPerStep + workPerArgument * inputs.length)
    for (const input of inputs) context.charge(input)
    if (searchFilters.has(name)) context.chargeSearch(inputs[0], inputs[1])
    if (name === 'date') context.use((String(inputs[1]).match(nameInDate)?.length ?? 0) * workPerName)
    if (name.startsWith('date_to_')) context.use(workPerName)
    if (elementFilters.has(name) && Array.isArray(inputs[1]))
      throw new Error(`${name} adds a text or number. To add a list, use concat`)
    const result = yield filter.apply(this, inputs)
    if (typeof result === 'string') context.use(result.length)
    context.charge(result)
    return result
  }
}
