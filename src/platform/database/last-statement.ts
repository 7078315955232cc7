import type { CompiledQuery, QueryResult, Transaction } from 'kysely'
import { AT_COMMIT } from './connections/prepared.ts'
import type { Schema } from './schema.ts'

type Tx = Transaction<Schema>

interface Options<T, V extends object, R> {
  /** Compiles the statement, as compileValues() of statement.ts does. */
  readonly compile: (tx: Tx, values: V) => CompiledQuery<R>
  /** Returns the values of the statement for the items of one transaction. */
  readonly valuesOf: (items: readonly T[]) => V
  /** Limits the items of one execution. */
  readonly maxItems: number
  /**
   * Called with the rows once the statement has been executed; if it was sent with the commit, after that.
   */
  readonly onRows: (tx: Tx, rows: readonly R[]) => void
}

interface Execution {
  readonly compiled: CompiledQuery
  readonly onRows: (tx: Tx, rows: readonly unknown[]) => void
}

interface Added {
  readonly items: unknown[]
  readonly executionOf: (items: readonly unknown[]) => Execution
}

/** The statements with the mark for the commit. A text that is made anew each time is hashed and compared as a whole. */
const marked = new Map<string, string>()

function markForCommit(text: string): string {
  const known = marked.get(text) ?? text + AT_COMMIT
  marked.set(text, known)
  return known
}

/** The items that transactions have added so far, by the statements that will write them. */
const addedTo = new WeakMap<object, Map<object, Added>>()

/** Statements that are executed once each, before those for items. */
const single = new WeakMap<object, Execution[]>()

/** Lets `tx` execute last statements at its end; runLast() must follow. */
export function collectLast(tx: object): void {
  addedTo.set(tx, new Map())
  single.set(tx, [])
}

/**
 * Declares one statement as last. It precedes those of lastStatement() that are sent with the commit. Its rows may be read
 * once the transaction has committed, so the caller must know without them what else there is to write.
 *
 * @returns A function that returns the rows; it must be called after inTx().
 * @throws Error outside inTx().
 */
export function executeAtCommit<R>(tx: Tx, compiled: CompiledQuery<R>): () => readonly R[] {
  let rows: readonly unknown[] | null = null
  const added = single.get(tx)
  if (added === undefined) throw new Error('executeAtCommit outside inTx')
  added.push({ compiled, onRows: (_tx, written) => void (rows = written) })
  return () => {
    if (rows === null) throw new Error('The transaction has not committed yet')
    return rows as readonly R[]
  }
}

/**
 * Declares a statement for items that nothing else in their transaction reads. It is executed at the end, once for all
 * items, and is sent together with the commit: that saves a round trip, and a transaction without any other statement
 * needs no `begin` and no `commit`.
 *
 * @returns A function that adds an item. Outside inTx() it executes the statement immediately.
 */
export function lastStatement<T, V extends object, R>(options: Options<T, V, R>): (tx: Tx, item: T) => Promise<void> {
  const { compile, valuesOf, maxItems, onRows } = options
  return async (tx, item) => {
    const executionOf = (items: readonly unknown[]): Execution => ({
      compiled: compile(tx, valuesOf(items as readonly T[])),
      onRows: (of, rows) => onRows(of, rows as readonly R[]),
    })
    const added = addedTo.get(tx)
    if (added === undefined) {
      await executeNow(tx, executionOf([item]))
      return
    }
    const known = added.get(options)
    if (known === undefined) added.set(options, { items: [item], executionOf })
    else known.items.push(item)
    if (known === undefined || known.items.length < maxItems) return
    added.delete(options)
    await executeNow(tx, executionOf(known.items))
  }
}

async function executeNow(tx: Tx, { compiled, onRows }: Execution): Promise<void> {
  onRows(tx, (await tx.executeQuery(compiled)).rows)
}

/**
 * Sends the last statements of `tx` together with its commit, so nothing may follow but the commit.
 * @returns A function to call after the commit.
 */
export async function runLast(tx: Tx): Promise<() => Promise<void>> {
  const ofItems = [...(addedTo.get(tx)?.values() ?? [])].map(({ items, executionOf }) => executionOf(items))
  const executions = [...(single.get(tx) ?? []), ...ofItems]
  addedTo.delete(tx)
  single.delete(tx)
  const sent: { readonly onRows: Execution['onRows']; readonly result: Promise<QueryResult<unknown>> }[] = []
  for (const { compiled, onRows } of executions) {
    // Kysely would execute no commit before the result of a query of its own.
    const { result } = await tx.getExecutor().provideConnection(async (connection) => ({
      result: connection.executeQuery({ ...compiled, sql: markForCommit(compiled.sql) }),
    }))
    // If it fails, so does the commit, with the same error.
    result.catch(() => {})
    sent.push({ onRows, result })
  }
  return async () => {
    for (const { onRows, result } of sent) onRows(tx, (await result).rows)
  }
}
