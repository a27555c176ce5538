/** Liquid for mail: no file access, own properties only, bounded in time and memory. */
import type * as liquidjs from 'liquidjs'
import type { Context, Emitter, Template } from 'liquidjs'
// The package's default entry is CommonJS, and its `require` fails inside a host's bundle of ES modules.
// @ts-expect-error The types are those of the package.
import * as modules from 'liquidjs/dist/liquid.node.mjs'
import { BoundedContext, boundedOperators, boundWork, workPerTemplate } from './liquid-work.ts'

const { CaptureTag, Drop, EchoTag, Liquid, Parser, Token, Tokenizer, TypeGuards, filters } = modules as typeof liquidjs

export type { Template }

export type Format = 'html' | 'text'

/** Maximum length of a template, in UTF-16 code units. */
const maxTemplateCharacters = 500_000

/** Maximum outputs and tags of a template, with the lines of `liquid` tags. Parsing 50,000 takes seconds. */
const maxTags = 5000

/** Maximum characters in the outputs and tags of a template. A tag may have a value in every second one. */
const maxTagCharacters = 100_000

/** Maximum time of the renderings of a content, all its templates together. They block the process, so it is short. */
const maxRenderMs = 500

/** Maximum characters that filters of one rendering may take, and elements of its ranges. */
const maxFilteredCharacters = 1_000_000

const options = {
  ownPropertyOnly: true,
  strictFilters: true,
  memoryLimit: maxFilteredCharacters,
  operators: boundedOperators,
  timezoneOffset: 0, // UTC, whatever the machine's zone is
  locale: 'en-US',
} as const

/** Tags that read other templates. */
const fileTags = ['include', 'render', 'layout', 'block']

/**
 * A text that an output shows in another form: the html of a `capture` or of a filter that escapes, or the lines of
 * `newline_to_br`. Other filters and conditions read its text instead. They make a text of it, which html escapes.
 */
class ShownText extends Drop {
  readonly shown: unknown
  // Templates read these two as they do of a text.
  readonly size: number
  readonly length: number
  readonly #text: string

  constructor(shown: unknown, text: string) {
    super()
    this.shown = shown
    this.size = text.length
    this.length = text.length
    this.#text = text
  }

  override valueOf(): string {
    return this.#text
  }

  override toString(): string {
    return this.#text
  }

  toJSON(): string {
    return this.#text
  }
}

class CaptureHtml extends CaptureTag {
  override *render(ctx: Context): Generator<unknown, void, string> {
    yield* super.render(ctx)
    const scope = ctx.bottom()
    const html = scope[this.variable]
    scope[this.variable] = new ShownText(html, html)
  }
}

/** Shows a value as an output does. Liquid's own tag makes a text of it first. */
class EchoShown extends EchoTag {
  override *render(ctx: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const { value } = this as unknown as { value?: liquidjs.Value }
    const result = yield value?.value(ctx, false)
    if (result instanceof ShownText) emitter.write(result.shown)
    else yield* super.render(ctx, emitter)
  }
}

type Filter = (this: unknown, ...inputs: unknown[]) => unknown

const escapeValue = filters.escape as Filter

/** What Liquid does with the value of each output. */
const outputFilters: Readonly<Record<Format, Filter>> = {
  html(value) {
    return value instanceof ShownText ? value.shown : escapeValue.call(this, value)
  },
  text: (value) => (value instanceof ShownText ? value.shown : value),
}

/** Filters that escape for html. An output with one of them is not escaped a second time. */
const escapingFilters = ['escape', 'escape_once', 'xml_escape']

function escapeOnce(liquid: liquidjs.Liquid): void {
  for (const name of escapingFilters) {
    const filter = liquid.filters[name] as Filter
    liquid.registerFilter(name, function* (this: unknown, ...inputs): Generator<unknown, ShownText, string> {
      const html = yield filter.apply(this, inputs)
      return new ShownText(html, html)
    })
  }
}

/**
 * Lets outputs show the lines of `newline_to_br`: html with its `<br />`, which would be escaped, and a text without it,
 * because a text has no tags. Other filters read the `<br />` in both, as in `newline_to_br | split: '<br />'`.
 */
function showLines(liquid: liquidjs.Liquid, format: Format): void {
  const { newline_to_br: breakLines } = liquid.filters as Readonly<Record<'newline_to_br', Filter>>
  const show = outputFilters[format]
  liquid.registerFilter('newline_to_br', function* (this: unknown, value): Generator<unknown, ShownText, string> {
    const shown = show.call(this, value)
    return new ShownText(
      format === 'html' ? yield breakLines.call(this, shown) : shown,
      yield breakLines.call(this, value),
    )
  })
}

function createEngine(format: Format): liquidjs.Liquid {
  const liquid = new Liquid({ ...options, outputEscape: outputFilters[format] as (value: unknown) => string })
  liquid.registerTag('echo', EchoShown)
  if (format === 'html') liquid.registerTag('capture', CaptureHtml)
  for (const tag of fileTags) delete liquid.tags[tag]
  boundWork(liquid)
  if (format === 'html') escapeOnce(liquid)
  showLines(liquid, format)
  // Liquid's own limits do not count what a template writes. This emitter does, also inside `capture`.
  const { renderer } = liquid
  const renderTemplates = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates, ctx, emitter = new CountingEmitter(ctx as BoundedContext)) => {
    ;(ctx as BoundedContext).use(workPerTemplate * templates.length)
    return renderTemplates(templates, ctx, emitter)
  }
  return liquid
}

class CountingEmitter implements Emitter {
  buffer = ''
  readonly #ctx: BoundedContext

  constructor(ctx: BoundedContext) {
    this.#ctx = ctx
  }

  write(value: unknown): void {
    const text = typeof value === 'string' ? value : toText(value)
    this.#ctx.use(text.length)
    this.buffer += text
  }
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return Array.isArray(value) ? value.map(toText).join('') : String(value)
}

/** `html` escapes every output that has no `raw` filter; `text` escapes nothing. */
const engines = { html: createEngine('html'), text: createEngine('text') } as const

/** @throws Error The template is wrong, too long, or has too many tags. */
export function parseTemplate(format: Format, source: string): Template[] {
  if (source.length > maxTemplateCharacters) throw new Error(`it has more than ${maxTemplateCharacters} characters`)
  if (source.split(/\{[{%]/, maxTags + 2).length > maxTags + 1) throw tooManyTags()
  const engine = engines[format]
  const tokens = new Tokenizer(source, engine.options.operators).readTopLevelTokens(engine.options)
  checkTags(tokens)
  return new Parser(engine).parseTokens(tokens)
}

/** Checks the size of outputs and tags. A tag `liquid` has a tag in each of its lines. */
function checkTags(tokens: readonly liquidjs.Token[]): void {
  const tags = tokens.filter((token) => TypeGuards.isDelimitedToken(token))
  const lines = tags.filter((tag) => TypeGuards.isTagToken(tag) && tag.name === 'liquid').map((tag) => tag.getText())
  const count = lines.reduce((sum, text) => sum + text.split('\n').length - 1, tags.length)
  if (count > maxTags) throw tooManyTags()
  if (tags.reduce((sum, { begin, end }) => sum + end - begin, 0) > maxTagCharacters)
    throw new Error(`its tags have more than ${maxTagCharacters} characters`)
}

function tooManyTags(): Error {
  return new Error(`it has more than ${maxTags} tags`)
}

/** Renders the templates of a content. They share the time. */
export class Renderer {
  #leftMs = maxRenderMs

  /** @throws Error It takes too much time or memory. */
  render(format: Format, templates: Template[], variables: object): string {
    const startedMs = performance.now()
    try {
      const engine = engines[format]
      const limits = { sync: true, renderLimit: this.#leftMs }
      return engine.renderSync(templates, new BoundedContext(variables, engine.options, limits, { liquid: engine }))
    } finally {
      this.#leftMs -= performance.now() - startedMs
    }
  }
}

/** Returns the variables that a template takes from outside, each as its path. */
export function variablesOf(format: Format, templates: Template[]): unknown[][] {
  const { prototype } = Token
  const { getPosition } = prototype
  try {
    // The analysis counts the lines before each variable, which takes minutes if there are many. They are not needed.
    prototype.getPosition = () => [0, 0]
    const { globals } = engines[format].analyzeSync(templates, { partials: false })
    return Object.values(globals).flatMap((uses) => uses.map((variable) => variable.toArray()))
  } finally {
    prototype.getPosition = getPosition
  }
}
