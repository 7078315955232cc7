import { invalidField } from '../platform/errors.ts'
import type { UpgradeNote } from '../rollout/rollout.ts'
import type { UpgradeRequest } from './org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'

/** A device that has never connected has said nothing against a snapshot: whether it can is seen when it is upgraded. */
export interface SnapshotDevice extends UpgradeDevice {
  /** Why it can't take a recovery snapshot; null where nothing is known against it. */
  readonly snapshotRefusal: string | null
}

type Plans = readonly DevicePlan<SnapshotDevice>[]

/** @throws AppError invalid if snapshots are wanted and no device that is upgraded can take one. */
export function refuseSnapshot({ snapshot }: Pick<UpgradeRequest, 'snapshot'>, plans: Plans): void {
  if (!snapshot) return
  const upgraded = plans.filter(({ kind }) => kind === 'upgrade')
  const [first] = upgraded
  if (first === undefined || upgraded.some(({ device }) => device.snapshotRefusal === null)) return
  const { mac, model, snapshotRefusal } = first.device
  const which = `none of the ${upgraded.length} devices can take a recovery snapshot, for example ${mac} (${model})`
  throw invalidField('snapshot', `is true, but ${which}: ${snapshotRefusal}`)
}

/** Returns a note for each device that is upgraded and then takes no snapshot, although snapshots are wanted. */
export function noteSnapshots({ snapshot }: Pick<UpgradeRequest, 'snapshot'>, plans: Plans): UpgradeNote[] {
  if (!snapshot) return []
  return plans.flatMap(({ kind, device: { mac, snapshotRefusal } }) =>
    kind === 'upgrade' && snapshotRefusal !== null ? [{ mac, reason: `no recovery snapshot: ${snapshotRefusal}` }] : [],
  )
}
