import { type Pool, type PoolCap, createPool } from './pool.ts'

/**
 * Requests in flight at the same time, by how long they have been waiting for an answer. Nearly all are
 * answered while they are fresh, so those that hang leave the fresh slots to others: first to the late
 * ones, which are as many again, then to the few slow ones.
 */
export interface Caps {
  readonly fresh: PoolCap
  readonly late: PoolCap
  readonly slow: PoolCap
  /** From this age on a request is late, if there is room. */
  readonly lateMs: number
  /** From this age on a request is slow, or cut if there is no room. */
  readonly slowMs: number
  /** Of the claimed messages of fast lanes, and of slow ones. */
  readonly fastBytes: PoolCap
  readonly slowBytes: PoolCap
}

const MIB = 1024 * 1024

/** An organization may use a quarter. */
const quartered = (total: number): PoolCap => ({ total, perOrg: total / 4 })

export const defaultCaps: Caps = {
  fresh: quartered(256),
  late: quartered(256),
  slow: quartered(64),
  lateMs: 250,
  slowMs: 2000,
  fastBytes: quartered(64 * MIB),
  slowBytes: quartered(16 * MIB),
}

/** What a claim of lanes has to keep to. */
export interface Vacancy {
  readonly lanes: number
  readonly bytes: number
  readonly busyOrgIds: readonly string[]
  /** How many lanes of an organization. */
  readonly lanesOf: (orgId: string) => number
  /** The webhooks that may be claimed; null for all. */
  readonly onlyWebhookIds: readonly string[] | null
  readonly exceptWebhookIds: readonly string[]
}

/** A claimed lane's time with this process. */
export interface Turn {
  /** Takes a slot for a request; null when there is none. */
  start(): Slot | null
  /** Frees what the lane's messages take. Its requests must have ended. */
  end(): void
}

export interface Slot {
  /** Aborts when the request has to give way, or at the stop. */
  readonly signal: AbortSignal
  end(): void
}

export interface Admission {
  /** Lanes are slow from a slow request on until a request is answered in time. Slow ones share the slow slots. */
  vacancy(pace: 'fast' | 'slow'): Vacancy
  open(lane: { readonly orgId: string; readonly webhookId: string; readonly bytes: number }): Turn
  /** Moves requests that have become late or slow, and cuts those that have no place. To be called often. */
  age(): void
  /** Aborts all requests and starts no more. */
  stop(): void
}

interface TurnState {
  readonly orgId: string
  readonly webhookId: string
  readonly bytes: number
  bytePool: Pool
}

interface Request {
  readonly turn: TurnState
  readonly startedMs: number
  readonly cutting: AbortController
  pool: Pool
}

/** Which lanes are slow is only a memory: one that is forgotten hangs in a fresh slot once more. */
const MAX_SLOW_LANES = 10_000

export interface AdmissionOptions {
  readonly caps: Caps
  readonly nowMs: () => number
  /** Hears of a slot that is free while there was none. */
  readonly onVacancy: () => void
}

/** Shares out the requests in flight; a slot is for one request. */
export function createAdmission({ caps, nowMs, onVacancy }: AdmissionOptions): Admission {
  const [fresh, late, slow] = [createPool(caps.fresh), createPool(caps.late), createPool(caps.slow)]
  const [fastBytes, slowBytes] = [createPool(caps.fastBytes), createPool(caps.slowBytes)]
  /** The oldest first. */
  const requests = new Set<Request>()
  const slowWebhookIds = new Set<string>()
  const claimedWebhookIds = new Set<string>()
  let stopped = false

  function leavePool({ pool, turn }: Request): void {
    const wasFull = pool.left() === 0
    pool.add(turn.orgId, -1)
    if (wasFull) onVacancy()
  }

  function move(request: Request, to: Pool): void {
    leavePool(request)
    request.pool = to
    to.add(request.turn.orgId, 1)
  }

  function markSlow(webhookId: string): void {
    const [oldest] = slowWebhookIds
    if (slowWebhookIds.size >= MAX_SLOW_LANES && oldest !== undefined) slowWebhookIds.delete(oldest)
    slowWebhookIds.add(webhookId)
  }

  /** A cut request is sent again when its lane gets a slow slot, and then has all the time there is. */
  function moveToSlowOrCut(request: Request): void {
    const { turn } = request
    markSlow(turn.webhookId)
    const bytes = turn.bytePool === slowBytes ? 0 : turn.bytes
    if (!slow.fits(turn.orgId, 1) || !slowBytes.fits(turn.orgId, bytes)) {
      request.cutting.abort()
      return
    }
    move(request, slow)
    turn.bytePool.add(turn.orgId, -turn.bytes)
    turn.bytePool = slowBytes
    slowBytes.add(turn.orgId, turn.bytes)
  }

  function end(request: Request): void {
    requests.delete(request)
    leavePool(request)
    const { webhookId } = request.turn
    if (!slowWebhookIds.has(webhookId)) return
    const wasInTime = !request.cutting.signal.aborted && nowMs() - request.startedMs < caps.slowMs
    const hasSlowOnes = [...requests].some(({ pool, turn }) => pool === slow && turn.webhookId === webhookId)
    if (wasInTime && !hasSlowOnes) slowWebhookIds.delete(webhookId)
  }

  function start(turn: TurnState): Slot | null {
    const pool = slowWebhookIds.has(turn.webhookId) ? slow : fresh
    if (stopped || !pool.fits(turn.orgId, 1)) return null
    const request: Request = { turn, pool, startedMs: nowMs(), cutting: new AbortController() }
    pool.add(turn.orgId, 1)
    requests.add(request)
    return { signal: request.cutting.signal, end: () => end(request) }
  }

  return {
    vacancy(pace) {
      const isFast = pace === 'fast'
      const [slots, bytes] = isFast ? [fresh, fastBytes] : [slow, slowBytes]
      return {
        lanes: slots.left(),
        bytes: bytes.left(),
        lanesOf: (orgId) => slots.leftOf(orgId),
        busyOrgIds: [...slots.fullOrgIds(), ...bytes.fullOrgIds()],
        onlyWebhookIds: isFast ? null : [...slowWebhookIds],
        exceptWebhookIds: isFast ? [...claimedWebhookIds, ...slowWebhookIds] : [...claimedWebhookIds],
      }
    },
    open({ orgId, webhookId, bytes }) {
      const bytePool = slowWebhookIds.has(webhookId) ? slowBytes : fastBytes
      const turn: TurnState = { orgId, webhookId, bytes, bytePool }
      claimedWebhookIds.add(webhookId)
      bytePool.add(orgId, bytes)
      return {
        start: () => start(turn),
        end() {
          claimedWebhookIds.delete(webhookId)
          turn.bytePool.add(orgId, -bytes)
        },
      }
    },
    age() {
      const now = nowMs()
      for (const request of requests) {
        const ageMs = now - request.startedMs
        if (ageMs < caps.lateMs) break
        if (request.pool === slow || request.cutting.signal.aborted) continue
        if (ageMs >= caps.slowMs) moveToSlowOrCut(request)
        else if (request.pool === fresh && late.fits(request.turn.orgId, 1)) move(request, late)
      }
    },
    stop() {
      stopped = true
      for (const { cutting } of requests) cutting.abort()
    },
  }
}
