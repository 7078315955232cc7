import { type RawBuilder, sql } from 'kysely'
import { escapeLike } from '../../platform/database/db.ts'
import { plannedAnew } from '../../platform/database/connections/prepared.ts'
import type { Alternatives, Condition, Conditions, Filters, Pattern, Range } from './filters.ts'

/** A column to compare, sort by, or count. */
export interface Column {
  readonly value: RawBuilder<unknown>
  /** The value in small letters, where a column has it; otherwise it is computed row by row. */
  readonly folded?: RawBuilder<unknown>
  /** A condition for rows with one of the values, where a better one exists than a comparison. */
  readonly isAnyOf?: (values: readonly string[]) => RawBuilder<unknown>
  /** A condition for texts that begin with `prefix`, where a better one exists than LIKE. */
  readonly startsWith?: (prefix: string) => RawBuilder<unknown>
}

/** No row has a value: filters match nothing. */
export const unreported = null

/** The column of each filter. A filter without one does not compile. */
export type Columns<F extends Filters> = { readonly [Name in keyof F]: Column | typeof unreported }

export function column(value: RawBuilder<unknown>): Column {
  return { value }
}

/** The conditions of a query on the columns, all of which must hold. */
export function conditionsOn<F extends Filters>(columns: Columns<F>, conditions: Conditions<F>): RawBuilder<unknown>[] {
  return Object.entries<Condition | undefined>(conditions).flatMap(([name, condition]) =>
    condition === undefined ? [] : [conditionOn(columns[name] ?? unreported, condition)],
  )
}

/** All conditions as one, for a query that is built step by step. */
export function allHold(conditions: readonly RawBuilder<unknown>[]): RawBuilder<boolean> {
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join([...conditions], sql` and `)})`
}

export function conditionOn(of: Column | typeof unreported, condition: Condition): RawBuilder<unknown> {
  if (of === unreported) return sql`false`
  return 'values' in condition ? isOneOf(of, condition) : isIn(of, condition)
}

function isOneOf(of: Column, { values, patterns, anyCase }: Alternatives): RawBuilder<unknown> {
  const equal = values.length === 0 ? [] : [of.isAnyOf?.(values.map(String)) ?? isEqual(of.value, values)]
  const like = patterns.map((pattern) => {
    const prefix = prefixOf(pattern)
    if (prefix !== null && of.startsWith !== undefined) return of.startsWith(prefix)
    if (prefix !== null && !anyCase) return beginsWith(of.value, sql`${prefix}`)
    if (prefix !== null && of.folded !== undefined) return beginsWith(of.folded, sql`lower(${prefix})`)
    const text = pattern.map(escapeLike).join('%')
    if (!anyCase) return sql`${of.value} like ${text}`
    return of.folded === undefined ? sql`${of.value} ilike ${text}` : sql`${of.folded} like lower(${text})`
  })
  // The best plan depends on the patterns, so a generic plan would be bad for most.
  const known = patterns.length === 0 ? sql`` : plannedAnew
  const alternatives = [...equal, ...like]
  return alternatives.length === 0 ? sql`false` : sql`(${known}${sql.join(alternatives, sql` or `)})`
}

function isEqual(compared: RawBuilder<unknown>, values: Alternatives['values']): RawBuilder<unknown> {
  const [only] = values
  return values.length === 1 ? sql`${compared} = ${only}` : sql`${compared} = any(${values})`
}

/** The prefix of the matching texts, if the pattern has no other condition. */
function prefixOf(pattern: Pattern): string | null {
  const [prefix = '', rest] = pattern
  return pattern.length === 2 && rest === '' && prefix !== '' ? prefix : null
}

/**
 * A range of texts by their bytes. PostgreSQL would make the same of `like 'prefix%'`, but could also take the index of
 * parts for it, which is slow for many rows. U+10FFFF is the last code point, and no character.
 */
function beginsWith(column: RawBuilder<unknown>, prefix: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(${column} ~>=~ ${prefix}::text and ${column} ~<~ (${prefix}::text || chr(1114111)))`
}

function isIn({ value }: Column, { after, from, before }: Range): RawBuilder<unknown> {
  const bounds = [
    ...(after === undefined ? [] : [sql`${value} > ${after}`]),
    ...(from === undefined ? [] : [sql`${value} >= ${from}`]),
    ...(before === undefined ? [] : [sql`${value} < ${before}`]),
  ]
  return sql`(${sql.join(bounds, sql` and `)})`
}
