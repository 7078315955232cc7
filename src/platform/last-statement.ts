import type { CompiledQuery, Transaction } from 'kysely'
import { AT_COMMIT } from './prepared.ts'
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
   * Called with the rows once the statement has been executed; if it was sent with the commit, after that. Their
   * columns have the names of the database.
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

function atCommit(text: string): string {
  const known = marked.get(text) ?? text + AT_COMMIT
  marked.set(text, known)
  return known
}

/** The items that transactions have added so far, by the statements that will write them. */
const addedTo = new WeakMap<object, Map<object, Added>>()

/** Lets `tx` execute last statements at its end; runLast() must follow. */
export function collectLast(tx: object): void {
  addedTo.set(tx, new Map())
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
 * Executes the last statements of `tx`. The final one is held until the commit and sent with it, so nothing may follow
 * but the commit.
 * @returns A function to call after the commit.
 */
export async function runLast(tx: Tx): Promise<() => Promise<void>> {
  const executions = [...(addedTo.get(tx)?.values() ?? [])].map(({ items, executionOf }) => executionOf(items))
  addedTo.delete(tx)
  const last = executions.pop()
  for (const execution of executions) await executeNow(tx, execution)
  if (last === undefined) return async () => {}
  const { compiled, onRows } = last
  // Kysely would execute no commit before the result of a query of its own.
  const sent = await tx.getExecutor().provideConnection(async (connection) => ({
    result: connection.executeQuery({ ...compiled, sql: atCommit(compiled.sql) }),
  }))
  // If it fails, so does the commit, with the same error.
  sent.result.catch(() => {})
  return async () => onRows(tx, (await sent.result).rows)
}
