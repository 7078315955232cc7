import type { StrategyOptions } from './strategy.ts'

/**
 * A few devices first, then ever larger shares of the fleet. Each share is rounded up, so 1 % of 20
 * devices is one device, not none. Source: spec, "Organization device upgrade request", canary_phases.
 */
export function planCanary(targets: number, { canaryPercents }: StrategyOptions): number[] {
  const ends = canaryPercents.map((percent) => Math.ceil((targets * percent) / 100))
  return ends.map((end, index) => end - (ends[index - 1] ?? 0))
}
