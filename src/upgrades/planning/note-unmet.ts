import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { Candidate } from '../../rollout/store-candidates.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import { noteHealth } from './plan-health.ts'
import type { DevicePlan } from './plan-org-upgrade.ts'
import { noteRollbacks } from './plan-rollbacks.ts'
import { noteSnapshots } from './plan-snapshots.ts'

/** What an upgrade demands of its devices, of which some may be unable. */
type Demands = Pick<UpgradeRequest, 'snapshot' | 'rollback' | 'health'>

/**
 * Returns a note for each demand that a device which is upgraded can't meet.
 * @param reporting The devices that have ever reported their health, if the upgrade compares it.
 */
export function noteUnmet(
  demands: Demands,
  plans: readonly Pick<DevicePlan<Candidate>, 'kind' | 'device'>[],
  reporting: ReadonlySet<string> | undefined,
): UpgradeNote[] {
  return [...noteSnapshots(demands, plans), ...noteRollbacks(demands, plans), ...noteHealth(demands, plans, reporting)]
}
