import { canStage } from '../../rollout/targets/steps/decide-order.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import { invalidField } from '../../platform/errors.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { DevicePlan, UpgradeDevice } from './plan-org-upgrade.ts'
import type { Phasing } from '../strategies/strategy.ts'

type Plans = readonly DevicePlan<UpgradeDevice & Parameters<typeof canStage>[0]>[]

/** The phasing of an upgrade's reboots and downloads. */
export interface PhasingPlan {
  /** The phasing of the reboots. */
  readonly phasing: Phasing
  /** Null: devices download in the phases of their reboots. */
  readonly downloads: Phasing | null
  /** True if only devices that download separately from their reboot are in phases of the downloads. */
  readonly onlyTwoSteps: boolean
  readonly notes: readonly UpgradeNote[]
}

const BIG_BANG = 'big_bang'

/**
 * Plans whether downloads have separate phases. They do if some device downloads separately from its reboot, and the
 * strategies differ, or the downloads can run ahead because the reboots begin later. A device that downloads and
 * reboots in one step is in the phases of its reboot, unless the reboots are big_bang, which has none, and have no
 * later time.
 * @throws AppError invalid for gates that would have no effect.
 */
export function planPhasing(request: UpgradeRequest, plans: Plans): PhasingPlan {
  const { strategy, phasing, downloads } = request
  const none = { downloads: null, onlyTwoSteps: false }
  if (downloads === null) return { ...none, phasing, notes: [] }
  const upgraded = plans.filter(({ kind }) => kind === 'upgrade')
  const oneStep = upgraded.filter(({ device }) => !canStage(device)).length
  const runAhead = strategy !== BIG_BANG && downloads.strategy !== BIG_BANG && request.reboot !== null
  const isApart = oneStep < upgraded.length && (downloads.strategy !== strategy || runAhead)
  if (!isApart && strategy === BIG_BANG) return { ...none, ...followDownloads(request) }
  const notes = noteOneStep(request, { oneStep, total: upgraded.length })
  if (!isApart && downloads.hasGates)
    throw invalidField('phase_gates', 'has phase_of downloads, but the devices download in the phases of their reboots')
  if (!isApart) return { ...none, phasing, notes }
  return { phasing, downloads: downloads.phasing, onlyTwoSteps: !followsDownloads(request), notes }
}

/** True if reboots have neither phases nor a later time, so that devices with one step follow the downloads. */
function followsDownloads({ strategy, reboot }: UpgradeRequest): boolean {
  return strategy === BIG_BANG && reboot === null
}

/** A strategy big_bang demands nothing, so that of the downloads makes the phases of both. */
function followDownloads({ phasing, downloads }: UpgradeRequest): Pick<PhasingPlan, 'phasing' | 'notes'> {
  if (downloads === null || downloads.strategy === BIG_BANG) return { phasing, notes: [] }
  const reason = `The devices also reboot in the phases of the download_strategy ${downloads.strategy}`
  return { phasing: downloads.phasing, notes: [{ reason }] }
}

function noteOneStep(
  request: UpgradeRequest,
  { oneStep, total }: { readonly oneStep: number; readonly total: number },
): UpgradeNote[] {
  const { strategy, downloads } = request
  if (downloads === null || !downloads.isNamed || downloads.strategy === strategy || oneStep === 0) return []
  const which = `${oneStep} of the ${total} devices download and reboot in one step`
  const how = followsDownloads(request)
    ? `in the phases of the download_strategy ${downloads.strategy}`
    : `in the phases of the reboot_strategy ${strategy}`
  return [{ reason: `${which}, ${how}` }]
}
