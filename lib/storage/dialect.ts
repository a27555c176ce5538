import type { Expression, RawBuilder } from 'kysely'
import type { Parameters, ParameterType, SlotMark } from './statement.ts'

/** The phrases that differ between databases, so that each query stands once. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Whether several transactions write at the same time. */
  readonly concurrentWriters: boolean
  /** Whether the driver tells the id of what was inserted: asking the statement for it costs a table of its own. */
  readonly returnsInsertId: boolean
  /** The type of a column of moments. */
  readonly timeType: string
  /** One row if there is a table of that name. */
  findTable(name: Expression<unknown>): RawBuilder<unknown>
  /** The placeholder of a parameter, cast where the database needs it. */
  slot(mark: SlotMark): RawBuilder<unknown>
  /** A value as the driver binds it. */
  bind(type: ParameterType, value: unknown): unknown
  /** A list parameter as a table named `item` with one column, `item.value`. */
  unnest(list: Expression<unknown>): RawBuilder<{ value: never }>
  /** The value at a position of a list parameter, from 0. */
  itemAt(list: Expression<unknown>, position: Expression<unknown>): RawBuilder<unknown>
  /** Rows as a parameter, as a table named `item` with these columns, in their order. */
  unnestRows(rows: Expression<unknown>, columns: Parameters): RawBuilder<unknown>
  /** `column` is one of a list parameter. */
  inList(column: Expression<unknown>, list: Expression<unknown>): RawBuilder<boolean>
  /** `text` contains `part`, taken literally. */
  contains(text: Expression<unknown>, part: Expression<unknown>): RawBuilder<boolean>
  /** The first rows, by `id`, of several selects that an index gives in that order each; at the end, as a whole select. */
  merge(ranges: readonly RawBuilder<unknown>[], merge: Merge): RawBuilder<{ id: number }>
  /**
   * What a walk costs for each match of a search that is asked for so many lists, tags and topics, and for each member of
   * one of whom one contact in `spacing` is a member.
   */
  readonly costs: { match(asked: number): number; member(spacing: number): number }
  /** Searches of so many characters and more have an index. */
  readonly shortestMatch: number
  /**
   * What the index may be asked for, by the words of the search; a contact that matches it has all of these. None: the
   * index is asked for the search.
   */
  searchParts(search: string): readonly (readonly string[])[]
  /** How far one must go, roughly, to find some of a client's contacts that have a part; null: there are only a few. */
  rankParts(rank: Pick<MatchWalk, 'client_id' | 'parts'>): RawBuilder<{ part: string; reached: number | null }>
  /** Whether a contact is on one of these lists, or has one of these tags or topics: a list parameter. */
  isMember(
    kind: 'list' | 'tag' | 'topic',
    contactId: Expression<unknown>,
    values: Expression<unknown>,
  ): RawBuilder<boolean>
  /** Whether a contact of the client is unsubscribed; `c` in the statement. */
  isUnsubscribed(clientId: Expression<unknown>, contactId: Expression<unknown>): RawBuilder<boolean>
  /** The ids of a client's contacts that match a search, beyond a position, in order. */
  walkMatches(walk: MatchWalk): RawBuilder<{ id: number }>
  /** How the members of a list and the matches of a search are intersected; undefined where the database does that best. */
  readonly intersection?: Intersection
  /** Those of a client's contacts that may match a search, up to a limit. */
  listCandidates(list: Pick<MatchWalk, 'client_id' | 'search' | 'parts' | 'limit'>): RawBuilder<{ id: number }>
  /** A JSON object of the expressions, keys in order. */
  object(fields: Record<string, Expression<unknown>>): RawBuilder<unknown>
  /** The rows of `from …` as a JSON array of `item`, by ascending `order`. */
  list(item: Expression<unknown>, order: Expression<unknown>, from: Expression<unknown>): RawBuilder<unknown>
  /** A stored moment as text of the contract's form. */
  time(column: Expression<unknown>): RawBuilder<unknown>
  /** A stored boolean inside a JSON object. */
  bool(column: Expression<unknown>): RawBuilder<unknown>
  /** A stored JSON document inside a JSON object. */
  json(column: Expression<unknown>): RawBuilder<unknown>
  /** Ends a select of rows that another process may claim at the same time: those it has are left out. */
  readonly forUpdateSkipLocked: RawBuilder<unknown>
  /** Ends a select of rows that are read to be changed: until the transaction ends, nobody else changes them. */
  readonly forUpdate: RawBuilder<unknown>
  /**
   * Takes a lock of that name until the transaction ends; `taken` is false where another has it, and nobody waits. Absent
   * where there is one writer at a time.
   */
  tryLock?(name: Expression<unknown>): RawBuilder<{ taken: boolean }>
  /** As `tryLock`, and waits for whoever has it. */
  lock?(name: Expression<unknown>): RawBuilder<unknown>
  /** Begins a statement whose plan depends on its values: how common they are decides what is walked. */
  readonly customPlan: RawBuilder<unknown>
  /** JSON as text, for a column of a result. */
  jsonText(json: Expression<unknown>): RawBuilder<string>
}

/** How ranges are merged. */
export interface Merge {
  /** Whether a row may be in several ranges: it comes once. */
  readonly distinct: boolean
  readonly desc: boolean
  readonly limit: Expression<unknown>
}

/** Members and matches side by side, a stretch of ids at a time. */
export interface Intersection {
  /** What it costs for each member and for each match, in the measure of `costs`. */
  readonly cost: number
  /** Ids that a select gives in order, as one value, with their bounds. */
  gather(ids: RawBuilder<{ id: number }>): RawBuilder<Gathered>
  /** Those of gathered ids that may match. */
  matchesAmong(among: Record<'client_id' | 'parts' | keyof Bounds, Expression<unknown>>): RawBuilder<{ id: number }>
}

interface Bounds {
  readonly ids: string
  readonly lowest: number
  readonly highest: number
}

/** No ids have no bounds. */
export type Gathered = { readonly count: number } & (Bounds | { readonly [K in keyof Bounds]: null })

/** What a walk over the matches of a search is made of. */
export interface MatchWalk {
  readonly client_id: Expression<unknown>
  readonly search: Expression<unknown>
  /** A list: those of the search's parts that the index is asked for. */
  readonly parts: Expression<unknown>
  readonly after: Expression<unknown>
  readonly limit: Expression<unknown>
  readonly desc: boolean
  /** What else is asked of a contact. */
  readonly conditions: (contactId: RawBuilder<unknown>) => RawBuilder<unknown>
}
