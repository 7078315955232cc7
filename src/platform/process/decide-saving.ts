/** Saving less resident memory is not worth its time. */
export const LEAST_LIMIT_MB = 400
/** Memory is saved until so much of the limit is left. */
const ENOUGH_PART = 0.8
/** The least memory of this time counts as in use, although a thread that hardly allocates may keep garbage for longer. */
const LONG_MS = 120_000
/** What is in use may grow by this factor before memory is saved again. */
const ROOM = 1.25

/** Whether the garbage collector saves memory, at the cost of time. */
export interface Saving {
  readonly isOn: boolean
  /** It begins with more resident memory than this. */
  readonly limitMb: number
  /** The limit is never lower. */
  readonly leastLimitMb: number
  /** When it has begun, by a monotonic clock. */
  readonly sinceMs: number
  /** The least resident memory since then. */
  readonly lowestMb: number
}

export function notSaving(leastLimitMb: number): Saving {
  return { isOn: false, limitMb: leastLimitMb, leastLimitMb, sinceMs: 0, lowestMb: 0 }
}

interface Moment {
  readonly residentMb: number
  /** Monotonic milliseconds. */
  readonly nowMs: number
}

/** The limit rises to what the service needs, and falls with it. */
export function decideSaving(saving: Saving, { residentMb, nowMs }: Moment): Saving {
  const { isOn, limitMb, leastLimitMb, sinceMs } = saving
  const limitFor = (inUseMb: number): number => Math.max(leastLimitMb, inUseMb * ROOM)
  if (!isOn) {
    if (residentMb > limitMb) return { ...saving, isOn: true, sinceMs: nowMs, lowestMb: residentMb }
    return { ...saving, limitMb: Math.min(limitMb, limitFor(residentMb)) }
  }
  const lowestMb = Math.min(saving.lowestMb, residentMb)
  const isEnough = residentMb < limitMb * ENOUGH_PART || nowMs - sinceMs >= LONG_MS
  return { ...saving, lowestMb, ...(isEnough && { isOn: false, limitMb: limitFor(lowestMb) }) }
}
