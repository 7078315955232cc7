import { invalidField } from '../../platform/errors.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'

export interface RestorableDevice extends UpgradeDevice {
  /** False: its driver can't restore a backup version. A device that has none yet has one once it is upgraded. */
  readonly mayRestore: boolean
}

type Plans = readonly Pick<DevicePlan<RestorableDevice>, 'kind' | 'device'>[]

/** @throws AppError invalid if failed devices are to be restored, and none of them can be. */
export function refuseRollback({ rollback }: Pick<UpgradeRequest, 'rollback'>, plans: Plans): void {
  if (!rollback) return
  const upgraded = plans.filter(({ kind }) => kind === 'upgrade')
  const [first] = upgraded
  if (first === undefined || upgraded.some(({ device }) => device.mayRestore)) return
  const { mac, model } = first.device
  const which = `none of the ${upgraded.length} devices can restore its backup version, for example ${mac} (${model})`
  throw invalidField('rollback_on_failure', `is true, but ${which}`)
}

/** Returns a note for each device that can't be restored if its upgrade fails, although the request demands it. */
export function noteRollbacks({ rollback }: Pick<UpgradeRequest, 'rollback'>, plans: Plans): UpgradeNote[] {
  if (!rollback) return []
  return plans.flatMap(({ kind, device: { mac, mayRestore } }) =>
    kind === 'upgrade' && !mayRestore ? [{ mac, reason: "can't restore its backup version if it fails" }] : [],
  )
}
