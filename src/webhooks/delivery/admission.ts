import { Cutter, type RequestSignal } from '../../platform/outbound/cutter.ts'
import { type Pool, type PoolCap, createPool } from './pool.ts'

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

/** The lanes of an organization that this process has claimed and that have messages. An idle lane takes no turn. */
export interface HeldCount {
  readonly orgId: string
  readonly lanes: number
}

/** The limits of a claim of lanes. */
export interface Vacancy {
  readonly lanes: number
  readonly bytes: number
  readonly held: readonly HeldCount[]
  readonly busyOrgIds: readonly string[]
  /** The number of lanes of the organization that may be claimed. */
  readonly lanesOf: (orgId: string) => number
  /** The webhooks that may be claimed; null for all. */
  readonly onlyWebhookIds: readonly string[] | null
  readonly exceptWebhookIds: readonly string[]
}

/** The period for which this process has a lane. */
export interface Turn {
  /** Returns a slot for a request; null when none is free. */
  start(): Slot | null
  /** Adds a message of this size; false when it does not fit. */
  add(bytes: number): boolean
  /** Releases the bytes of a message. */
  subtract(bytes: number): void
  /** Releases the bytes of all messages that are left. The lane's requests must have ended. */
  end(): void
}

export interface Slot {
  /** Aborts when the request is cut, and at `stop`. */
  readonly signal: RequestSignal
  end(): void
}

export interface Admission {
  /** A lane is slow from its first slow request until a request is answered in time. Slow lanes share the slow slots. */
  vacancy(pace: 'fast' | 'slow'): Vacancy
  open(lane: { readonly orgId: string; readonly webhookId: string; readonly bytes: number }): Turn
  /**
   * Moves requests that have become late or slow and cuts those without a slot. Must be called often.
   * @param asOfMs A time after which everything that has arrived was read.
   */
  age(asOfMs: number): void
  /** Aborts all requests and allows no more. */
  stop(): void
}

interface TurnState {
  readonly orgId: string
  readonly webhookId: string
  bytes: number
  bytePool: Pool
}

interface Request {
  readonly turn: TurnState
  readonly startedMs: number
  readonly cutting: Cutter
  pool: Pool
}

/** The number of slow lanes to remember. A slow lane that is dropped blocks a fresh slot once more. */
const MAX_SLOW_LANES = 10_000

export interface AdmissionOptions {
  readonly caps: Caps
  readonly nowMs: () => number
  /** Called when a slot becomes free after all were taken. */
  readonly onVacancy: () => void
}

/** Assigns the slots for requests in flight; a slot serves one request. */
export function createAdmission({ caps, nowMs, onVacancy }: AdmissionOptions): Admission {
  const [fresh, late, slow] = [createPool(caps.fresh), createPool(caps.late), createPool(caps.slow)]
  const [fastBytes, slowBytes] = [createPool(caps.fastBytes), createPool(caps.slowBytes)]
  /** In the order in which they started. */
  const requests = new Set<Request>()
  const slowWebhookIds = new Set<string>()
  const claimed = new Map<string, TurnState>()
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

  function heldCounts(): HeldCount[] {
    const counts = new Map<string, number>()
    for (const { orgId, bytes } of claimed.values()) if (bytes > 0) counts.set(orgId, (counts.get(orgId) ?? 0) + 1)
    return [...counts].map(([orgId, lanes]) => ({ orgId, lanes }))
  }

  function markSlow(webhookId: string): void {
    const [oldest] = slowWebhookIds
    if (slowWebhookIds.size >= MAX_SLOW_LANES && oldest !== undefined) slowWebhookIds.delete(oldest)
    slowWebhookIds.add(webhookId)
  }

  /** A cut request is sent again when its lane gets a slow slot, and then has the full time-out. */
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
    const wasInTime = !request.cutting.aborted && nowMs() - request.startedMs < caps.slowMs
    const hasSlowOnes = [...requests].some(({ pool, turn }) => pool === slow && turn.webhookId === webhookId)
    if (wasInTime && !hasSlowOnes) slowWebhookIds.delete(webhookId)
  }

  function start(turn: TurnState): Slot | null {
    const pool = slowWebhookIds.has(turn.webhookId) ? slow : fresh
    if (stopped || !pool.fits(turn.orgId, 1)) return null
    const request: Request = { turn, pool, startedMs: nowMs(), cutting: new Cutter() }
    pool.add(turn.orgId, 1)
    requests.add(request)
    return { signal: request.cutting, end: () => end(request) }
  }

  return {
    vacancy(pace) {
      const isFast = pace === 'fast'
      const [slots, bytes] = isFast ? [fresh, fastBytes] : [slow, slowBytes]
      return {
        lanes: slots.left(),
        bytes: bytes.left(),
        lanesOf: (orgId) => slots.leftOf(orgId),
        held: heldCounts(),
        busyOrgIds: [...slots.fullOrgIds(), ...bytes.fullOrgIds()],
        onlyWebhookIds: isFast ? null : [...slowWebhookIds],
        exceptWebhookIds: isFast ? [...claimed.keys(), ...slowWebhookIds] : [...claimed.keys()],
      }
    },
    open({ orgId, webhookId, bytes }) {
      const bytePool = slowWebhookIds.has(webhookId) ? slowBytes : fastBytes
      const turn: TurnState = { orgId, webhookId, bytes, bytePool }
      claimed.set(webhookId, turn)
      bytePool.add(orgId, bytes)
      return {
        start: () => start(turn),
        add(more) {
          if (!turn.bytePool.fits(orgId, more)) return false
          turn.bytes += more
          turn.bytePool.add(orgId, more)
          return true
        },
        subtract(less) {
          turn.bytes -= less
          turn.bytePool.add(orgId, -less)
        },
        end() {
          // The next turn of the lane may have begun.
          if (claimed.get(webhookId) === turn) claimed.delete(webhookId)
          turn.bytePool.add(orgId, -turn.bytes)
        },
      }
    },
    age(asOfMs) {
      for (const request of requests) {
        const ageMs = asOfMs - request.startedMs
        if (ageMs < caps.lateMs) break
        if (request.pool === slow || request.cutting.aborted) continue
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
