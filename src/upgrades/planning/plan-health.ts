import { invalidField } from '../../platform/errors.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'

type Plans = readonly Pick<DevicePlan<UpgradeDevice>, 'kind' | 'device'>[]

/**
 * @param reporting The devices that have ever reported their health.
 * @throws AppError invalid if the health of devices is to be compared, and none of them reports it.
 */
export function refuseHealth(
  { health }: Pick<UpgradeRequest, 'health'>,
  plans: Plans,
  reporting: ReadonlySet<string>,
): void {
  if (!health) return
  const upgraded = plans.filter(({ kind }) => kind === 'upgrade')
  const [first] = upgraded
  if (first === undefined || upgraded.some(({ device }) => reporting.has(device.id))) return
  const { mac, model } = first.device
  const which = `none of the ${upgraded.length} devices reports its ports, radios and clients, for example ${mac} (${model})`
  throw invalidField('check_health', `is true, but ${which}`)
}

/** Returns a note for each device whose health is not compared despite the request. */
export function noteHealth(
  { health }: Pick<UpgradeRequest, 'health'>,
  plans: Plans,
  reporting: ReadonlySet<string> = new Set(),
): UpgradeNote[] {
  if (!health) return []
  return plans.flatMap(({ kind, device: { id, mac } }) =>
    kind === 'upgrade' && !reporting.has(id)
      ? [{ mac, reason: 'does not report how it is: its health is not compared' }]
      : [],
  )
}
