import { type Orderable, planOrder } from './plan-order.ts'
import type { RolloutStrategy } from '../rollout/rollout.ts'
import { strategies } from './strategies/index.ts'
import type { StrategyOptions } from './strategies/strategy.ts'

export interface PhasePlan<T> {
  /** How many targets each phase has; empty ones are there too. */
  readonly sizes: readonly number[]
  /** In order of upgrade. */
  readonly targets: readonly PlacedTarget<T>[]
}

export interface PlacedTarget<T> {
  readonly target: T
  /** Counts from 1, as does `ordinal`, its place in the whole order. */
  readonly phase: number
  readonly ordinal: number
}

export interface PhaseOptions extends StrategyOptions {
  readonly upgradeId: string
  readonly strategy: RolloutStrategy
}

/** Puts each target into one phase. The same input gives the same plan, in whatever order the targets come. */
export function planPhases<T extends Orderable>(targets: readonly T[], options: PhaseOptions): PhasePlan<T> {
  const sizes = strategies[options.strategy](targets.length, options)
  const phaseOf = sizes.flatMap((size, index) => Array.from({ length: size }, () => index + 1))
  return {
    sizes,
    targets: planOrder(options.upgradeId, targets).map((target, index) => ({
      target,
      phase: phaseOf[index] ?? sizes.length,
      ordinal: index + 1,
    })),
  }
}
