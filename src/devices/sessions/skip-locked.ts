import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys, limitLockWaits } from '../../platform/database/db.ts'
import { isLockTimeout } from '../../platform/database/database-errors.ts'
import { lockUnlocked } from './store-registered.ts'

/** How long a batch waits for another transaction. Those of devices and of reports take less. */
const LOCK_WAIT_MS = 50

export interface DevicesOfBatch {
  readonly deviceIds: readonly string[]
  /** True if one of them was locked before: the batch doesn't wait for it again. */
  readonly isRepeated: boolean
}

/** Runs the work in a transaction, as inTx() does. */
export type InTransaction = <T>(ctx: Context, work: (tx: Tx) => Promise<T>) => Promise<T>

/** Rows of several organizations that a batch changes. */
export interface RowsOfBatch {
  readonly ids: readonly string[]
  /** As in DevicesOfBatch. */
  readonly isRepeated: boolean
  /** Locks what the batch changes, except what another transaction has locked, and returns the ids of the latter. */
  readonly lockFree: (tx: Tx, ids: readonly string[]) => Promise<readonly string[]>
  /** Default: inTxByKeys. */
  readonly inTransaction?: InTransaction
}

/** What was done for the rows of a batch that were not locked. */
export interface DoneUnlocked<T> {
  /** Null: all rows were locked. */
  readonly done: T | null
  /** The ids of rows that another transaction is changing. Nothing was done for them. */
  readonly lockedIds: ReadonlySet<string>
}

/** Does the work for devices that connect or disconnect: see skipLockedRows(). */
export function skipLocked<T>(
  ctx: Context,
  { deviceIds: ids, isRepeated }: DevicesOfBatch,
  work: (tx: Tx, lockedIds: ReadonlySet<string>) => Promise<T>,
): Promise<DoneUnlocked<T>> {
  return skipLockedRows(ctx, { ids, isRepeated, lockFree: lockUnlocked }, work)
}

/**
 * Does work for rows of several organizations, in one transaction. It waits only briefly for the transaction of another
 * organization: the rows that this one changes are left out.
 * @param work Receives the ids of the locked rows, which it must leave out. It isn't called if all are locked.
 */
export async function skipLockedRows<T>(
  ctx: Context,
  { ids, isRepeated, lockFree, inTransaction = inTxByKeys }: RowsOfBatch,
  work: (tx: Tx, lockedIds: ReadonlySet<string>) => Promise<T>,
): Promise<DoneUnlocked<T>> {
  const attempt = (skips: boolean): Promise<DoneUnlocked<T>> =>
    inTransaction(ctx, async (tx) => {
      await limitLockWaits(tx, LOCK_WAIT_MS)
      const lockedIds = new Set(skips ? await lockFree(tx, ids) : [])
      const isAnyFree = ids.some((id) => !lockedIds.has(id))
      return { done: isAnyFree ? await work(tx, lockedIds) : null, lockedIds }
    })
  try {
    if (!isRepeated) return await attempt(false)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
  }
  try {
    return await attempt(true)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return { done: null, lockedIds: new Set(ids) }
  }
}
