import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys, isLockTimeout, limitLockWaits } from '../../platform/database/db.ts'
import { lockUnlocked } from './store-registered.ts'

/** How long a batch waits for another transaction. Those of devices and of reports take less. */
const LOCK_WAIT_MS = 50

export interface DevicesOfBatch {
  readonly deviceIds: readonly string[]
  /** True if one of them was locked before: the batch doesn't wait for it again. */
  readonly isRepeated: boolean
}

/** What was done for the devices of a batch that were not locked. */
export interface DoneUnlocked<T> {
  /** Null: all devices were locked. */
  readonly done: T | null
  /** The ids of devices that another transaction is changing. Nothing was done for them. */
  readonly lockedIds: ReadonlySet<string>
}

/**
 * Does work for devices of several organizations, in one transaction by keys. It waits only briefly for the transaction
 * of another organization: the devices that this one changes are left out.
 * @param work Receives the ids of the locked devices, which it must leave out. It isn't called if all are locked.
 */
export async function skipLocked<T>(
  ctx: Context,
  { deviceIds, isRepeated }: DevicesOfBatch,
  work: (tx: Tx, lockedIds: ReadonlySet<string>) => Promise<T>,
): Promise<DoneUnlocked<T>> {
  const attempt = (skips: boolean): Promise<DoneUnlocked<T>> =>
    inTxByKeys(ctx, async (tx) => {
      await limitLockWaits(tx, LOCK_WAIT_MS)
      const lockedIds = new Set(skips ? await lockUnlocked(tx, deviceIds) : [])
      const isAnyFree = deviceIds.some((id) => !lockedIds.has(id))
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
    return { done: null, lockedIds: new Set(deviceIds) }
  }
}
