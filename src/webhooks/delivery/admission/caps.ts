import type { PoolCap } from './pool.ts'

/**
 * Limits the requests in flight, by how long they have waited for an answer. Nearly all requests are answered while
 * they are fresh. Hanging requests free their fresh slots: they move to the late slots, of which there are as many, and
 * then to the few slow slots.
 */
export interface Caps {
  readonly fresh: PoolCap
  readonly late: PoolCap
  readonly slow: PoolCap
  /** A request of this age becomes late if there is room. */
  readonly lateMs: number
  /** A request of this age becomes slow, or is cut if there is no room. */
  readonly slowMs: number
  /** Bytes of the claimed messages of fast lanes; `slowBytes` is the same for slow lanes. */
  readonly fastBytes: PoolCap
  readonly slowBytes: PoolCap
}

const MIB = 1024 * 1024

/** Allows each organization a quarter of the total. */
const quartered = (total: number): PoolCap => ({ total, perOrg: total / 4 })
/** Allows the same as quartered(), and more while a quarter stays free for others. */
const shared = (total: number): PoolCap => ({ ...quartered(total), keptFree: total / 4 })

export const defaultCaps: Caps = {
  fresh: shared(256),
  late: quartered(256),
  slow: quartered(64),
  lateMs: 250,
  slowMs: 2000,
  fastBytes: quartered(64 * MIB),
  slowBytes: quartered(16 * MIB),
}
