import type { Writable } from 'node:stream'
import { type PostgresPool, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { DocumentCodec } from '../../sealing/document-codec.ts'
import { type ColumnOptions, NamedQuery, type QueryText } from './prepared-query.ts'

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

/**
 * Ends the text of a statement that waits for the commit. All of these are sent with it, in their order. A single one without
 * any other statement in the transaction is sent alone, because it is a transaction of its own.
 */
export const AT_COMMIT = '/* at commit */'

/** Ends the text of a `copy`, whose only parameter is its data. */
export const WITH_DATA = '/* with data */'

/** What the types of the driver lack. */
interface CopyingConnection {
  readonly stream: Writable
  query(text: string): void
  endCopyFrom(): void
}

/** The kind of a message with data of a `copy`. */
const COPY_DATA = 'd'

/** The driver would copy a configuration property by property, which takes longer than the rest of what it does. */
function execute(client: pg.PoolClient, statement: QueryText, columns: ColumnOptions): Promise<pg.QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
  const query = new NamedQuery(statement, columns, (error, result) => {
    if (error) reject(error)
    else resolve(result as pg.QueryResult)
  })
  client.query(query as unknown as pg.Submittable)
  return promise
}

/** Returns what precedes the data of a `copy`. Its length includes itself. */
function copyDataHeader(bytes: number): Buffer {
  const header = Buffer.alloc(5)
  header.writeInt32BE(4 + bytes, header.write(COPY_DATA))
  return header
}

/**
 * Sends the data with the statement: PostgreSQL ignores it if it refuses that. The driver would copy the data twice.
 */
function copy(client: pg.PoolClient, text: string, data: Buffer): Promise<pg.QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
  const query = new pg.Query(text, (error: Error | undefined, result: unknown) => {
    if (error) reject(error)
    else resolve(result as pg.QueryResult)
  })
  const submit = (connection: CopyingConnection): null => {
    const { stream } = connection
    stream.cork()
    connection.query(text)
    stream.write(copyDataHeader(data.length))
    stream.write(data)
    connection.endCopyFrom()
    stream.uncork()
    return null
  }
  client.query(Object.assign(query, { submit, handleCopyInResponse: () => undefined }))
  return promise
}

interface HeldStatement extends PromiseWithResolvers<pg.QueryResult> {
  readonly text: string
  readonly values: unknown[]
}

const isBegin = (text: string): boolean => text === 'begin' || text.startsWith('start transaction')

/** The result of a transaction without a statement. */
const nothing: pg.QueryResult = { command: '', rowCount: 0, oid: 0, rows: [], fields: [] }

/** The names of prepared statements by their text. All users of a pool share its connections, and thus the names. */
const namesOfPools = new WeakMap<pg.Pool, Map<string, string>>()

function namesOf(pool: pg.Pool): Map<string, string> {
  const names = namesOfPools.get(pool) ?? new Map<string, string>()
  namesOfPools.set(pool, names)
  return names
}

/**
 * A pool for Kysely that prepares every statement once per connection: PostgreSQL then neither parses nor plans it
 * again, which would cost more than running most of our statements. A transaction begins together with its first
 * statement, in one message, so the connections must have `pipeline`. Documents pass through the codec.
 * @param columnName Returns the name of a column in the rows of a result.
 */
export function preparingPool(
  pool: pg.Pool,
  documents: DocumentCodec,
  columnName: (column: string) => string,
): PostgresPool {
  const names = namesOf(pool)
  // Kysely recognizes connections by identity.
  const clients = new WeakMap<pg.PoolClient, pg.PoolClient>()

  /** Returns the name under which a statement is prepared; undefined for one that is sent whole. */
  function nameOf(text: string, parameters: readonly unknown[]): string | undefined {
    const known = names.get(text)
    if (known !== undefined || parameters.length === 0 || names.size >= MAX_STATEMENTS) return known
    if (text.length > MAX_LENGTH || text.includes(PLANNED_ANEW) || text.endsWith(WITH_DATA)) return undefined
    const name = `s${names.size}`
    names.set(text, name)
    return name
  }

  function preparing(client: pg.PoolClient): pg.PoolClient {
    let begin: string | null = null
    let held: HeldStatement[] = []
    const columns: ColumnOptions = { known: new Map(), nameOf: columnName }
    const encode = (text: string, parameters: unknown[]): QueryText => {
      return { text, values: documents.encodeParameters(parameters), name: nameOf(text, parameters) }
    }
    const sendEncoded = async (statement: QueryText): Promise<pg.QueryResult> => {
      const { text, values, name } = statement
      const [data] = values
      if (name === undefined && text.endsWith(WITH_DATA) && Buffer.isBuffer(data)) return copy(client, text, data)
      const result = await execute(client, statement, columns)
      // Several statements in one text have a result each.
      for (const { rows } of Array.isArray(result) ? result : [result]) {
        const opened = documents.openRows(rows)
        if (opened !== undefined) await opened
      }
      return result
    }
    const send = async (text: string, parameters: unknown[]): Promise<pg.QueryResult> =>
      sendEncoded(encode(text, parameters))
    const query = async (text: string, values: unknown[]): Promise<pg.QueryResult> => {
      if (isBegin(text)) {
        begin = text
        return nothing
      }
      if (text.endsWith(AT_COMMIT)) {
        const last = { text, values, ...Promise.withResolvers<pg.QueryResult>() }
        held.push(last)
        return last.promise
      }
      if (held.length > 0) {
        const last = held
        held = []
        return endWith(text, last)
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
    /** Ends the transaction with statements. The commit fails with the first error of them, so that its own does not hide it. */
    const endWith = async (end: string, last: readonly HeldStatement[]): Promise<pg.QueryResult> => {
      try {
        if (end !== 'commit') throw new Error(`Statements were held for the commit, and ${end} followed`)
        const [only, ...others] = last
        const isAlone = begin !== null && only !== undefined && others.length === 0
        const [ended, results] = isAlone ? [nothing, await alone(only)] : await withCommit(last)
        for (const [index, { resolve }] of last.entries()) resolve(results[index] ?? nothing)
        return ended
      } catch (error) {
        for (const { reject } of last) reject(error)
        throw error
      }
    }
    const alone = async ({ text, values }: HeldStatement): Promise<readonly pg.QueryResult[]> => {
      begin = null
      return [await send(text, values)]
    }
    const withCommit = async (
      last: readonly HeldStatement[],
    ): Promise<readonly [pg.QueryResult, readonly pg.QueryResult[]]> => {
      // If this fails, no commit follows.
      const statements = last.map(({ text, values }) => encode(text, values))
      const first = begin
      begin = null
      const { stream } = client.connection
      stream.cork()
      const begun = first === null ? Promise.resolve(nothing) : client.query(first)
      const sent = [begun, ...statements.map(sendEncoded), client.query('commit')] as const
      stream.uncork()
      const settled = await Promise.allSettled(sent)
      const results = settled.map((each) => {
        if (each.status === 'rejected') throw each.reason
        return each.value
      })
      return [results.at(-1) ?? nothing, results.slice(1, -1)]
    }
    return Object.create(client, { query: { value: query } })
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
