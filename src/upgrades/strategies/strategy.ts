export interface StrategyOptions {
  /** Cumulative, whole, strictly rising, the last is 100. Canary only. */
  readonly canaryPercents: readonly number[]
}

/**
 * Cuts a list of targets into phases.
 *
 * @param targets How many there are.
 * @returns The sizes of the phases, in order; they sum to `targets`. A size may be 0: a phase keeps its number.
 */
export type Strategy = (targets: number, options: StrategyOptions) => number[]
