import type { Clock } from '../../../platform/time/clock.ts'
import type { Attempt } from '../../delivery/deliver-message.ts'
import type { DeliveryOrder } from '../../delivery-options.ts'
import { FIRST_WIDTH, type LaneHealth, decideHealth, decideWidth, latest } from '../decide-lane.ts'

type EndedAttempt = Pick<Attempt, 'askedMs' | 'verdict'> & { readonly record: Pick<Attempt['record'], 'nextAttempt'> }

/** What the attempts of a held lane have shown about its receiver. */
export interface LaneOutcomes {
  /** Must be called with each attempt, in the order in which they end. */
  add(attempt: EndedAttempt): void
  /** The webhook may have another receiver now, so the failures of attempts that end later don't count. */
  change(): void
  health(): LaneHealth
  /** How many requests the lane may have in flight. */
  width(): number
  /** True if the receiver refuses all further messages. */
  isGone(): boolean
  /** True if an attempt has failed, so that its message may be tried again. */
  hasFailed(): boolean
}

interface OutcomesOptions {
  /** When the lane was leased. */
  readonly before: LaneHealth
  /** How many requests it may have in flight at first. */
  readonly width?: number
  readonly order: DeliveryOrder | null
}

export function createLaneOutcomes(clock: Clock, { before, order, ...options }: OutcomesOptions): LaneOutcomes {
  let health: LaneHealth = { failures: before.failures, openUntil: before.openUntil, failingSince: before.failingSince }
  let width = options.width ?? FIRST_WIDTH
  let isGone = false
  let hasFailed = false
  let isChanged = false
  return {
    add({ askedMs, verdict: { kind }, record: { nextAttempt } }) {
      const succeeded = kind === 'delivered'
      hasFailed ||= !succeeded
      width = decideWidth(width, succeeded)
      isGone ||= kind === 'gone'
      if (succeeded || !isChanged) health = decideHealth(health, { succeeded, askedMs }, clock.now())
      // The whole lane waits for the message.
      if (order === 'webhook' && nextAttempt !== null)
        health = { ...health, openUntil: latest(health.openUntil, nextAttempt) }
    },
    change() {
      isChanged = true
    },
    health: () => health,
    width: () => width,
    isGone: () => isGone,
    hasFailed: () => hasFailed,
  }
}
