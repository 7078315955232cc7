import type { Outcome } from '../completion/request-end.ts'

/** The number of kinds whose costs are remembered; the oldest are dropped. */
const MAX_KNOWN = 10_000
/** The weight of the latest request in the cost of its kind. */
const LATEST = 0.2
/** The assumed cost of a request whose kind is not known, and the most that its share counts. */
const UNKNOWN_MS = 2
/** A kind counts as known after this many requests that ran beside others of unknown kinds. */
const ENOUGH = 3

/** The costs of requests for the main thread. */
export interface RequestCosts {
  /**
   * Call it when a request begins; the returned function when it ends.
   * @param kind Requests of a kind are expected to cost the same.
   * @returns A function that returns the milliseconds of the main thread that the request has used, with those of other
   *   processes, which it gets. Refused requests are a kind of their own: neither they nor the beginning of one say what the
   *   operation costs.
   */
  measure(kind: string): (outcome: Outcome, elsewhereMs?: number) => number
  /** Returns what requests of the kind cost on average, in all processes; undefined if none has ended yet. */
  averageMs(kind: string): number | undefined
  /** Learns what a request has cost other processes that is not measured any more. */
  learnElsewhere(kind: string, ms: number): void
}

interface Running {
  readonly kind: string
  readonly beganMs: number
  readonly sharesBefore: number
  /** The time of requests that have ended since it began, as far as their costs are known. */
  othersMs: number
  /** True if the cost of one of them is not known. */
  hasUnknownOthers: boolean
}

interface Cost {
  readonly ms: number
  /** The number of requests that were only guessed. */
  readonly guesses: number
}

interface RequestCostsOptions {
  /**
   * True if requests of unknown kinds that are in work at the same time get equal parts, however long they are. Otherwise the
   * first one to end gets up to two parts and each of the rest a small assumed cost: right if most are short.
   */
  readonly dividesUnknown?: boolean
}

/**
 * Estimates the processor time of requests that run at the same time in one thread: a request has used what the thread has
 * used from its beginning to its end, less what the others have used meanwhile by their known costs. Waiting costs
 * nothing, so neither a slow machine nor an expensive neighbor makes a caller look expensive.
 * @param cpuMs Milliseconds of processor time that this thread has used.
 */
export function createRequestCosts(
  cpuMs: () => number,
  { dividesUnknown = false }: RequestCostsOptions = {},
): RequestCosts {
  const known = new Map<string, Cost>()
  /** The costs of requests for other processes, by their kinds. */
  const elsewhere = new Map<string, number>()
  const running = new Set<Running>()
  let lastMs = cpuMs()
  /** The sum of the shares of a request that has been in work since the start. */
  let sharesMs = 0

  function advance(): number {
    const nowMs = cpuMs()
    if (running.size > 0) sharesMs += (nowMs - lastMs) / running.size
    lastMs = nowMs
    return nowMs
  }

  const isKnown = (kind: string): boolean => (known.get(kind)?.guesses ?? 0) >= ENOUGH

  function learn(kind: string, ms: number, guesses: number): number {
    const before = known.get(kind)
    const [oldest] = known.keys()
    if (known.size >= MAX_KNOWN && oldest !== undefined) {
      known.delete(oldest)
      elsewhere.delete(oldest)
    }
    known.delete(kind)
    // A measured cost replaces one that was guessed.
    const from = before === undefined || before.guesses < ENOUGH ? ms : before.ms
    known.set(kind, { ms: from + (ms - from) * LATEST, guesses: (before?.guesses ?? 0) + guesses })
    return ms
  }

  /** Requests of a kind that the main thread has served cost other processes nothing. */
  function learnElsewhere(kind: string, ms: number, wasKnown: boolean): void {
    const before = elsewhere.get(kind)
    if (before === undefined && ms === 0) return
    const from = before ?? (wasKnown ? 0 : ms)
    elsewhere.set(kind, from + (ms - from) * LATEST)
  }

  const knownMs = (kind: string): number | undefined => (isKnown(kind) ? known.get(kind)?.ms : undefined)

  /** What more expensive requests that are still in work may have used in its time: half of their cost. */
  function halvesOfLarger(kind: string): number {
    const ownMs = knownMs(kind) ?? UNKNOWN_MS
    let sumMs = 0
    for (const other of running) {
      const otherMs = knownMs(other.kind) ?? 0
      if (otherMs > ownMs) sumMs += otherMs / 2
    }
    return sumMs
  }

  function end({ kind, beganMs, sharesBefore, othersMs, hasUnknownOthers }: Running, endedMs: number): number {
    const before = knownMs(kind)
    const isFirst = before === undefined && !dividesUnknown
    const isCertain = !hasUnknownOthers && (isFirst || [...running].every((other) => isKnown(other.kind)))
    const shareMs = sharesMs - sharesBefore
    if (isCertain) {
      const ms = Math.max(endedMs - beganMs - othersMs - halvesOfLarger(kind), 0)
      // If the costs of others are known too low, one that waited behind them would pay for it.
      return learn(kind, Math.min(ms, 2 * shareMs), ENOUGH)
    }
    return before ?? learn(kind, dividesUnknown ? shareMs : Math.min(shareMs, UNKNOWN_MS), 1)
  }

  /**
   * What a request has used counts wholly in the time of another one in which it ends, and not in that in which it begins:
   * this is right on average, and while requests wait for each other in a queue.
   */
  function countFor(other: Running, kind: string): void {
    const ms = knownMs(kind)
    if (ms === undefined) other.hasUnknownOthers = true
    else other.othersMs += ms
  }

  return {
    averageMs(kind) {
      const cost = known.get(kind)
      return cost === undefined ? undefined : cost.ms + (elsewhere.get(kind) ?? 0)
    },
    learnElsewhere(kind, ms) {
      const wasKnown = known.has(kind)
      if (!wasKnown) learn(kind, UNKNOWN_MS, 1)
      learnElsewhere(kind, ms, wasKnown)
    },
    measure(kind) {
      const beganMs = advance()
      const entry: Running = { kind, beganMs, sharesBefore: sharesMs, othersMs: 0, hasUnknownOthers: false }
      running.add(entry)
      return (outcome, elsewhereMs = 0) => {
        const endedMs = advance()
        running.delete(entry)
        const wasKnown = known.has(kind)
        const endedAs = outcome === 'refused' ? `${kind} refused` : kind
        const ms =
          outcome === 'cut'
            ? Math.min(sharesMs - entry.sharesBefore, UNKNOWN_MS)
            : end({ ...entry, kind: endedAs }, endedMs)
        for (const other of running) countFor(other, endedAs)
        if (outcome === 'whole') learnElsewhere(kind, elsewhereMs, wasKnown)
        return ms + elsewhereMs
      }
    },
  }
}
