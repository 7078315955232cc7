import { Cutter, type RequestSignal } from '../../../platform/outbound/cutter.ts'
import type { Caps } from './caps.ts'
import type { ClaimedTurn } from './claimed-turns.ts'
import { type KeptSlots, createKeptSlots } from './kept-slots.ts'
import { type Pool, createPool } from './pool.ts'
import { type SlowLanes, createSlowLanes } from './slow-lanes.ts'

export interface Slot {
  /** Aborts when the request is cut, and at `stop`. */
  readonly signal: RequestSignal
  end(): void
}

/** The slots of requests in flight, by how long these have waited for an answer; see Caps. */
export interface RequestSlots {
  readonly fresh: Pool
  readonly slow: Pool
  readonly keptFresh: KeptSlots
  readonly keptSlow: KeptSlots
  readonly slowLanes: SlowLanes
  /** Does the same as Turn.start(). */
  start(turn: ClaimedTurn): Slot | null
  /** Does the same as Admission.age(). */
  readonly age: (asOfMs: number) => void
  /** Does the same as Admission.stop(). */
  readonly stop: () => void
}

interface Request {
  readonly turn: ClaimedTurn
  readonly startedMs: number
  readonly cutting: Cutter
  pool: Pool
}

export interface SlotOptions {
  readonly caps: Caps
  readonly nowMs: () => number
  /** Called when a slot becomes free after all were taken. */
  readonly onVacancy: () => void
  /** Does the same as ClaimedTurns.moveToSlow(). */
  readonly moveBytes: (turn: ClaimedTurn) => boolean
}

export function createRequestSlots({ caps, nowMs, onVacancy, moveBytes }: SlotOptions): RequestSlots {
  const [fresh, late, slow] = [createPool(caps.fresh), createPool(caps.late), createPool(caps.slow)]
  const [keptFresh, keptSlow] = [createKeptSlots(fresh, nowMs), createKeptSlots(slow, nowMs)]
  const slowLanes = createSlowLanes()
  /** In the order in which they started. */
  const requests = new Set<Request>()
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

  /** A cut request is sent again when its lane gets a slow slot, and then has the full time-out. */
  function moveToSlowOrCut(request: Request): void {
    const { turn } = request
    slowLanes.add(turn.webhookId)
    if (slow.fits(turn.orgId, 1) && moveBytes(turn)) move(request, slow)
    else request.cutting.abort()
  }

  function end(request: Request): void {
    requests.delete(request)
    request.turn.requests -= 1
    leavePool(request)
    const { webhookId } = request.turn
    if (!slowLanes.has(webhookId)) return
    const wasInTime = !request.cutting.aborted && nowMs() - request.startedMs < caps.slowMs
    const hasSlowOnes = [...requests].some(({ pool, turn }) => pool === slow && turn.webhookId === webhookId)
    if (wasInTime && !hasSlowOnes) slowLanes.delete(webhookId)
  }

  return {
    fresh,
    slow,
    keptFresh,
    keptSlow,
    slowLanes,
    start(turn) {
      const [pool, kept] = slowLanes.has(turn.webhookId) ? [slow, keptSlow] : [fresh, keptFresh]
      if (stopped || !kept.ask(turn)) return null
      const request: Request = { turn, pool, startedMs: nowMs(), cutting: new Cutter() }
      pool.add(turn.orgId, 1)
      turn.requests += 1
      requests.add(request)
      return { signal: request.cutting, end: () => end(request) }
    },
    age(asOfMs) {
      keptFresh.age(asOfMs)
      keptSlow.age(asOfMs)
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
