import { LARGE_PLAN, type RolloutOptions } from '../rollout.ts'

/** In relation to RolloutOptions.targetsPerRound. A few changed devices leave little. */
const MANY_PART = 0.5

/**
 * True for a round that reads many targets of a large upgrade: such rounds follow each other, and each leaves a kilobyte of garbage per
 * device that outlives the collections of the young heap.
 */
export function leavesMuchGarbage(
  orgUpgrades: readonly { readonly planned: number }[],
  siteUpgrades: readonly { readonly targets: readonly unknown[] }[],
  { targetsPerRound }: Pick<RolloutOptions, 'targetsPerRound'>,
): boolean {
  const read = siteUpgrades.reduce((sum, { targets }) => sum + targets.length, 0)
  return read >= MANY_PART * targetsPerRound && orgUpgrades.some(({ planned }) => planned >= LARGE_PLAN)
}
