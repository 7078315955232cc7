/** When memory is saved, and for how long. */
export interface SavingRule {
  /** Saving less resident memory is not worth its time. */
  readonly leastLimitMb: number
  /** Memory is saved until the process takes no more than this part of the limit. */
  readonly enoughPart: number
  /** What is in use may grow by this factor before memory is saved again. */
  readonly room: number
}

/** The least memory of this time counts as in use, although a thread that hardly allocates may keep garbage for longer. */
const LONG_MS = 120_000

/** Whether the garbage collector saves memory, at the cost of time. */
export interface Saving {
  readonly isOn: boolean
  readonly rule: SavingRule
  /** It begins with more resident memory than this, which is never less than that of the rule. */
  readonly limitMb: number
  /** When it has begun, by a monotonic clock. */
  readonly sinceMs: number
  /** The least resident memory since then. */
  readonly lowestMb: number
}

export function notSaving(rule: SavingRule): Saving {
  return { isOn: false, rule, limitMb: rule.leastLimitMb, sinceMs: 0, lowestMb: 0 }
}

interface Moment {
  readonly residentMb: number
  /** Monotonic milliseconds. */
  readonly nowMs: number
}

/** The limit rises to what the service needs, and falls with it. */
export function decideSaving(saving: Saving, { residentMb, nowMs }: Moment): Saving {
  const { isOn, rule, limitMb, sinceMs } = saving
  const limitFor = (inUseMb: number): number => Math.max(rule.leastLimitMb, inUseMb * rule.room)
  if (!isOn) {
    if (residentMb > limitMb) return { ...saving, isOn: true, sinceMs: nowMs, lowestMb: residentMb }
    return { ...saving, limitMb: Math.min(limitMb, limitFor(residentMb)) }
  }
  const lowestMb = Math.min(saving.lowestMb, residentMb)
  const isEnough = residentMb < limitMb * rule.enoughPart || nowMs - sinceMs >= LONG_MS
  return { ...saving, lowestMb, ...(isEnough && { isOn: false, limitMb: limitFor(lowestMb) }) }
}
