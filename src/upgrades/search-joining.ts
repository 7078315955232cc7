import type { Context } from '../platform/context.ts'
import { isDatabaseError } from '../platform/database/database-errors.ts'
import { databaseFailure } from '../platform/database/database-failure.ts'
import { AppError } from '../platform/errors.ts'
import { NEXT_LOOK_MS } from './org-upgrade.ts'

/**
 * Exceeds the time of one portion: each search has its own lease, which every further portion renews. If a worker dies, another
 * one continues its search after the lease. If the first one is still searching by then, it stops after its portion: locks prevent
 * that anything joins twice, and its position is no longer written.
 */
const LEASE_MS = 60_000
/** The number of upgrades for which one round searches, one after the other. */
const MAX_AT_ONCE = 20
/** The number of candidates that one search passes by. If more fail, it continues after a pause, so that it does not keep the service busy. */
const MAX_PASSED_BY = 10

/** When the next search begins, and behind which candidate. */
export interface NextSearch {
  readonly dueMs: number
  readonly after: string | null
}

/** An upgrade that is due to search. Its pass over the candidates continues behind `after`; null: it begins. */
export interface DueSearch {
  readonly orgId: string
  readonly id: string
  readonly after: string | null
}

/** The candidates that are read together: at most `limit` behind `after`. */
export interface Portion {
  readonly after: string | null
  readonly limit: number
}

/** The last candidate that was read; null at the end of the pass. */
export interface Looked {
  readonly last: string | null
}

/**
 * How upgrades of one kind search for candidates: the devices or appliances that may join them.
 * @typeParam Prepared The data that all portions of one search share.
 */
export interface JoiningSearch<Due extends DueSearch, Prepared> {
  /** The name of the candidates in messages, such as "devices". */
  readonly joins: string
  /** Claims an upgrade that is due: until the lease ends, no other worker searches for it. */
  readonly claim: (claim: { readonly nowMs: number; readonly leaseUntilMs: number }) => Promise<Due | undefined>
  /**
   * Reads the data that does not depend on the candidates. Its failure ends the search, because no candidate is the cause.
   * @returns Null if the upgrade has ended and searches no longer.
   */
  readonly prepare: (due: Due) => Promise<Prepared | null>
  /**
   * Takes in the candidates of a portion that join, and deletes the failures that are recorded for the others. A failure in
   * concerningJoining() is that of a candidate; any other one ends the search.
   * @returns Null if the upgrade has ended and searches no longer.
   */
  readonly look: (prepared: Prepared, portion: Portion) => Promise<Looked | null>
  /** Records why the only candidate of a portion can't join. @returns Null if the upgrade has ended. */
  readonly passBy: (prepared: Prepared, portion: Portion, reason: string) => Promise<Looked | null>
  /** The pause before a search that begins another pass. */
  readonly pauseMs: (prepared: Prepared) => number
  /**
   * Sets the next search. @param heldUntilMs The end of the lease under which this one searches.
   * @returns False if another worker has the lease by now, or the upgrade searches no longer; nothing is set then.
   */
  readonly update: (due: Due, next: NextSearch & { readonly heldUntilMs: number }) => Promise<boolean>
}

type SearchContext = Pick<Context, 'serviceClock' | 'log'>

/** Searches for each upgrade that is due. @param limit The candidates that one search reads. @returns True if more may be due. */
export async function searchAll<Due extends DueSearch, Prepared>(
  ctx: SearchContext,
  search: JoiningSearch<Due, Prepared>,
  limit: number,
): Promise<boolean> {
  for (let searched = 0; searched < MAX_AT_ONCE; searched += 1) {
    const nowMs = ctx.serviceClock.nowMs()
    const leaseUntilMs = nowMs + LEASE_MS
    const upgrade = await search.claim({ nowMs, leaseUntilMs })
    if (upgrade === undefined) return false
    try {
      const prepared = await search.prepare(upgrade)
      const update = updaterOf(search, upgrade, leaseUntilMs)
      if (prepared !== null && !(await searchPast(ctx, search, { upgrade, prepared, limit, update })))
        ctx.log.warn({ upgrade: upgrade.id }, `a search for ${search.joins} that join has lost its lease`)
    } catch (error) {
      ctx.log.error({ err: error, upgrade: upgrade.id }, `an upgrade could not take in further ${search.joins}`)
    }
  }
  return true
}

/** Sets the next search, and ends or renews the lease of the present one. @returns False if the lease was lost. */
type UpdateSearch = (next: NextSearch) => Promise<boolean>

function updaterOf<Due extends DueSearch, Prepared>(
  search: JoiningSearch<Due, Prepared>,
  upgrade: Due,
  leaseUntilMs: number,
): UpdateSearch {
  let heldUntilMs = leaseUntilMs
  return async (next) => {
    const isHeld = await search.update(upgrade, { ...next, heldUntilMs })
    heldUntilMs = next.dueMs
    return isHeld
  }
}

interface HeldSearch<Due extends DueSearch, Prepared> {
  readonly upgrade: Due
  readonly prepared: Prepared
  readonly limit: number
  readonly update: UpdateSearch
}

/**
 * Halves the portion each time one fails, and passes by the candidate that makes it fail; those behind it join in the same
 * search. A failure that no candidate has caused ends the search. @returns False if another worker has the lease.
 */
async function searchPast<Due extends DueSearch, Prepared>(
  ctx: SearchContext,
  search: JoiningSearch<Due, Prepared>,
  { upgrade, prepared, limit, update }: HeldSearch<Due, Prepared>,
): Promise<boolean> {
  let { after } = upgrade
  let left = limit
  let size = limit
  let passed = 0
  const updateIn = (pauseMs: number) => update({ dueMs: ctx.serviceClock.nowMs() + pauseMs, after })
  while (left > 0 && passed < MAX_PASSED_BY) {
    let looked: Looked | null
    try {
      looked = await search.look(prepared, { after, limit: size })
    } catch (error) {
      if (!(error instanceof JoiningFault)) throw error
      if (size > 1) {
        size = Math.floor(size / 2)
        if (!(await updateIn(LEASE_MS))) return false
        continue
      }
      ctx.log.error(
        { err: error.cause, upgrade: upgrade.id },
        `an upgrade passed by one of the ${search.joins} that may join`,
      )
      looked = await search.passBy(prepared, { after, limit: size }, reasonOf(error.cause))
      passed += 1
    }
    if (looked === null) return true
    after = looked.last
    if (after === null) return updateIn(search.pauseMs(prepared))
    left -= size
    size = Math.min(left, size * 2)
    if (left > 0 && !(await updateIn(LEASE_MS))) return false
  }
  return updateIn(left > 0 ? search.pauseMs(prepared) : NEXT_LOOK_MS)
}

/** A failure that a candidate has caused. */
class JoiningFault extends Error {}

/**
 * Reads or plans candidates: one of them is the cause of a failure, unless that is a failure of the database or a concurrent
 * change, such as the deletion of an image. The statements that take them in stay outside, because candidates can't make them fail.
 */
export async function concerningJoining<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw isOfNone(error)
      ? error
      : new JoiningFault('One of those that may join makes the search fail', { cause: error })
  }
}

function isOfNone(error: unknown): boolean {
  const isConcurrent = error instanceof AppError && error.code === 'conflict'
  return isConcurrent || isDatabaseError(error) || databaseFailure(error) !== undefined
}

/** Returns the reason that the record shows. Only the log has internal errors. */
function reasonOf(error: unknown): string {
  const cause = error instanceof AppError ? error.message : 'an internal error'
  return `could not be taken in: ${cause}`
}
