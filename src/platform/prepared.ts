import { type PostgresPool, type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import type { DocumentCodec } from './sealing/document-codec.ts'

/** The number of distinct statements that are prepared; others are sent whole each time. */
const MAX_STATEMENTS = 500
/** Longer statements are made for a number of rows that is unlikely to recur. */
const MAX_LENGTH = 20_000

const PLANNED_ANEW = '/* planned anew */'

/**
 * A mark for statements whose best plan depends on their values, such as those with a pattern: PostgreSQL plans them
 * for the values of each execution. A prepared statement would soon get one plan for any pattern.
 */
export const plannedAnew: RawBuilder<unknown> = sql.raw(PLANNED_ANEW)

const isBegin = (text: string): boolean => text === 'begin' || text.startsWith('start transaction')

/** The result of a transaction without a statement. */
const nothing: pg.QueryResult = { command: '', rowCount: 0, oid: 0, rows: [], fields: [] }

/**
 * A pool for Kysely that prepares every statement once per connection: PostgreSQL then neither parses nor plans it
 * again, which would cost more than running most of our statements. A transaction begins together with its first
 * statement, in one message, so the connections must have `pipeline`. Documents pass through the codec.
 */
export function preparingPool(pool: pg.Pool, documents: DocumentCodec): PostgresPool {
  const names = new Map<string, string>()
  // Kysely recognizes connections by identity.
  const clients = new WeakMap<pg.PoolClient, pg.PoolClient>()

  function nameOf(text: string): string | undefined {
    const known = names.get(text)
    if (known !== undefined || names.size >= MAX_STATEMENTS || text.length > MAX_LENGTH) return known
    const name = `s${names.size}`
    names.set(text, name)
    return name
  }

  function preparing(client: pg.PoolClient): pg.PoolClient {
    let begin: string | null = null
    const send = async (text: string, parameters: unknown[]): Promise<pg.QueryResult> => {
      const name = parameters.length > 0 && !text.includes(PLANNED_ANEW) ? nameOf(text) : undefined
      const values = documents.encodeParameters(parameters)
      const result: pg.QueryResult = await client.query({ text, values, ...(name !== undefined && { name }) })
      // Several statements in one text have a result each.
      for (const { rows } of [result].flat()) documents.openRows(rows)
      return result
    }
    const query = async (text: string, values: unknown[]): Promise<pg.QueryResult> => {
      if (isBegin(text)) {
        begin = text
        return nothing
      }
      if (begin === null) return send(text, values)
      const first = begin
      begin = null
      if (text === 'commit' || text === 'rollback') return nothing
      const { stream } = client.connection
      stream.cork()
      // Both are sent before either is awaited; without the first one the second must not count.
      const sent = [client.query(first), send(text, values)] as const
      stream.uncork()
      const [begun, result] = await Promise.allSettled(sent)
      if (begun.status === 'rejected') throw begun.reason
      if (result.status === 'rejected') throw result.reason
      return result.value
    }
    return new Proxy(client, {
      get(target, key) {
        if (key === 'query') return query
        const member: unknown = Reflect.get(target, key)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }

  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect()
      const known = clients.get(client) ?? preparing(client)
      clients.set(client, known)
      return known
    },
    end: () => pool.end(),
  }
}
