import { type TSchema, Type } from 'typebox'
import { MAX_EPOCH_S, addMs, epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { type Page, type Paged, nextPage, pageQuery } from './lists.ts'
import { nameOf, named } from '../schemas.ts'
import { textOf } from '../texts.ts'

/** Query of every search over time. Source: contract, "Search". */
export const searchQuery = {
  start: Type.Optional(
    named('start', textOf('instant', { description: 'epoch seconds, `now`, or an offset from now such as `-1d`' })),
  ),
  end: Type.Optional(
    named('end', textOf('instant', { description: 'epoch seconds, `now`, or an offset from now such as `-1h`' })),
  ),
  duration: Type.Optional(
    named(
      'duration',
      textOf('duration', { default: '1d', description: 'before `end`, where there is no `start`: `10m`, `7d`, `2w`' }),
    ),
  ),
}

/** Query of a search or a count over time, both of which have pages. */
export const pagedSearchQuery = { ...searchQuery, ...pageQuery }

export interface TimeRange {
  readonly start: Date
  readonly end: Date
}

const unitMs: Readonly<Record<string, number>> = { s: 1e3, m: 60e3, h: 3600e3, d: 86_400e3, w: 7 * 86_400e3 }

/**
 * `end` defaults to now; `start` to `duration` (one day) before the end.
 * @throws AppError invalid naming the field.
 */
export function parseTimeRange(
  query: { readonly start?: string; readonly end?: string; readonly duration?: string },
  now: Date,
): TimeRange {
  const end = query.end === undefined ? now : parseInstant('end', query.end, now)
  const durationMs = parseDuration('duration', query.duration ?? '1d')
  const start = query.start === undefined ? before(end, durationMs) : parseInstant('start', query.start, now)
  return { start, end }
}

/**
 * Parses epoch seconds, `now`, or an offset from `now` such as `-1h`.
 * @throws AppError invalid naming the field.
 */
export function parseInstant(field: string, text: string, now: Date): Date {
  if (text === 'now') return now
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) <= MAX_EPOCH_S) return new Date(Math.round(Number(text) * 1000))
  if (text.startsWith('-')) return before(now, parseDuration(field, text.slice(1)))
  throw invalidField(field, 'must be epoch seconds, `now` or an offset like `-1d`')
}

function parseDuration(field: string, text: string): number {
  const [, count, unit = 's'] = /^(\d{1,7})([smhdw])?$/.exec(text) ?? []
  const ms = unitMs[unit]
  if (count === undefined || ms === undefined || Number(count) * ms > MAX_EPOCH_S * 1000)
    throw invalidField(field, 'must be a number with one of the units s, m, h, d, w')
  return Number(count) * ms
}

/** Never before the epoch: nothing here is older, and PostgreSQL's calendar has a beginning. */
function before(instant: Date, ms: number): Date {
  return new Date(Math.max(addMs(instant, -ms).getTime(), 0))
}

/**
 * The parameter `sort`.
 * @param fields The fields that are answered; each can be sorted by, with or without a minus.
 */
export function sortParameter<S extends string>(fields: readonly S[], usual: S | `-${S}`) {
  const sorts = fields.flatMap((field) => [field, `-${field}` as const])
  return Type.Optional(Type.Enum(sorts, { default: usual, description: 'a field; with a minus, in descending order' }))
}

/** The parameter `distinct`: the field whose values are counted. */
export function distinctParameter<C extends string>(fields: readonly C[], usual: C) {
  return Type.Optional(Type.Enum([...fields], { default: usual, description: 'the field whose values are counted' }))
}

/** The parameter `distinct` where the contract has any text: a field that no row has is counted in none. */
export function anyDistinctParameter(fields: readonly string[], usual: string) {
  const known = fields.map((field) => `\`${field}\``).join(', ')
  return Type.Optional(
    Type.String({
      default: usual,
      examples: [...fields],
      description: `the field whose values are counted: ${known}; no event has another one`,
    }),
  )
}

/** Parses a sort such as `-timestamp`: a leading minus means descending. */
export function parseSort<S extends string>(sort: S | `-${S}`): Sort<S> {
  const by = (sort.startsWith('-') ? sort.slice(1) : sort) as S
  return { by, direction: sort.startsWith('-') ? 'desc' : 'asc' }
}

export interface Sort<S extends string = string> {
  readonly by: S
  readonly direction: 'asc' | 'desc'
}

const rangeReply = { start: Type.Integer(), end: Type.Integer(), limit: Type.Integer(), total: Type.Integer() }

/** The reply of every search. Source: contract, "Search". */
export function searchReplyOf<T extends TSchema>(item: T) {
  const reply = Type.Object({ results: Type.Array(item), ...rangeReply, next: Type.Optional(Type.String()) })
  const name = nameOf(item)
  return name === undefined ? reply : named(`${name}SearchResult`, reply)
}

/** The reply of every count: how often each value of the `distinct` field occurs, under that field's name, which is left out where it is not set. */
export const CountReply = named(
  'CountResult',
  Type.Object({
    distinct: Type.String(),
    ...rangeReply,
    results: Type.Array(
      named(
        'CountedValue',
        Type.Object(
          { count: Type.Integer() },
          // A schema for the other field would contradict `count` in generated types.
          { additionalProperties: true, description: 'the other field is a text, left out where it is not set' },
        ),
      ),
    ),
  }),
)

/** Whole seconds, because clients declare integers here. */
function presentRange({ start, end }: TimeRange): { start: number; end: number } {
  return { start: Math.floor(epochS(start)), end: Math.floor(epochS(end)) }
}

interface Asked {
  readonly search: TimeRange & Page
  /** The request's, from which the next page's is derived. */
  readonly url: string
  /**
   * True if the next page gets the range of this one, as by default. A range that ends now would end later with each
   * page, and rows that were added in between would move others to the next page, where they are read again.
   */
  readonly keepsRange?: boolean
}

export function presentSearch<T, R>(
  { rows, total, limit }: Paged<T>,
  present: (row: T) => R,
  { search, url, keepsRange = true }: Asked,
) {
  const range = keepsRange ? { start: String(epochS(search.start)), end: String(epochS(search.end)) } : {}
  return {
    results: rows.map(present),
    ...presentRange(search),
    limit,
    total,
    ...(limit * search.page < total && { next: nextPage(url, { limit, page: search.page }, range) }),
  }
}

/** A value of the counted field and how often it occurs; null if the field is not set. Clients see texts only. */
export interface ValueCount {
  readonly value: string | number | boolean | null
  readonly count: number
}

/** A page of the values, the most frequent first, and the number of different values. */
export interface Counts {
  readonly rows: readonly ValueCount[]
  readonly total: number
}

export function presentCounts(
  { rows, total }: Counts,
  { distinct, limit, ...range }: TimeRange & { readonly distinct: string; readonly limit: number },
) {
  return {
    distinct,
    ...presentRange(range),
    limit,
    total,
    results: rows.map(({ value, count }) => (value === null ? { count } : { [distinct]: String(value), count })),
  }
}
