import { invalidField } from '../../platform/errors.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'

/**
 * A device that has never connected has reported no reason against a snapshot: its capability becomes known when it is
 * upgraded.
 */
export interface SnapshotDevice extends UpgradeDevice {
  /** The reason why it can't take a recovery snapshot; null if none is known. */
  readonly snapshotRefusal: string | null
}

type Plans = readonly Pick<DevicePlan<SnapshotDevice>, 'kind' | 'device'>[]

/** @throws AppError invalid if snapshots are requested and no device that is upgraded can take one. */
export function refuseSnapshot(
  { snapshot, isAutomatic }: Pick<UpgradeRequest, 'snapshot' | 'isAutomatic'>,
  plans: Plans,
): void {
  if (!snapshot || isAutomatic) return
  const upgraded = plans.filter(({ kind }) => kind === 'upgrade')
  const [first] = upgraded
  if (first === undefined || upgraded.some(({ device }) => device.snapshotRefusal === null)) return
  const { mac, model, snapshotRefusal } = first.device
  const which = `none of the ${upgraded.length} devices can take a recovery snapshot, for example ${mac} (${model})`
  throw invalidField('snapshot', `is true, but ${which}: ${snapshotRefusal}`)
}

/** Returns a note for each device that is upgraded and then takes no snapshot, although the request demands them. */
export function noteSnapshots({ snapshot }: Pick<UpgradeRequest, 'snapshot'>, plans: Plans): UpgradeNote[] {
  if (!snapshot) return []
  return plans.flatMap(({ kind, device: { mac, snapshotRefusal } }) =>
    kind === 'upgrade' && snapshotRefusal !== null ? [{ mac, reason: `no recovery snapshot: ${snapshotRefusal}` }] : [],
  )
}
