import { counted } from '../../platform/counted.ts'
import { exceedsPercentage } from '../../rollout/stops/decide-stop.ts'
import type { Planned } from '../planning/plan-targets.ts'
import { DEFAULT_MAX_FAILURE_PERCENTAGE } from '../strategies/limit-fields.ts'

/** A device of the site that failed in an automatic upgrade which has not succeeded otherwise. */
export interface Failure {
  readonly deviceId: string
  readonly model: string
  /** The requested version. */
  readonly version: string
  /** It refused the image, for example: a further attempt would end in the same way. */
  readonly isFinal: boolean
}

/** A device that is to keep its version. */
export type HeldPlan = Extract<Planned, { readonly kind: 'leave_out' }>

/**
 * Lists the devices that must not get their version by themselves. A single failure is the fault of its device, and only that one
 * waits. Several of them, or a final one, are the fault of the version unless it works on most devices. Then all of the model wait:
 * otherwise it would spread over the site, a few devices at each time.
 */
export function listHeld(plans: readonly Planned[], failures: readonly Failure[]): HeldPlan[] {
  const placed = plans.filter((plan) => plan.kind !== 'leave_out')
  const alike = Map.groupBy(placed, ({ device, entry }) => JSON.stringify([device.model, entry.version]))
  return [...alike.values()].flatMap((some) => listHeldOf(some, failures))
}

/** @param plans Of one model and version. */
function listHeldOf(
  plans: readonly Exclude<Planned, { readonly kind: 'leave_out' }>[],
  failures: readonly Failure[],
): HeldPlan[] {
  const [first] = plans
  if (first === undefined) return []
  const {
    device: { model },
    entry: { version },
  } = first
  const running = new Set(plans.flatMap(({ kind, device }) => (kind === 'skip' ? [device.id] : [])))
  const unresolved = failures.filter(
    (one) => one.model === model && one.version === version && !running.has(one.deviceId),
  )
  const failed = new Set(unresolved.map(({ deviceId }) => deviceId))
  const isSuspect = failed.size > 1 || unresolved.some(({ isFinal }) => isFinal)
  const tried = failed.size + running.size
  const holdsAll = isSuspect && exceedsPercentage(failed.size, DEFAULT_MAX_FAILURE_PERCENTAGE, tried)
  const what = `${version} has failed on ${counted(failed.size, 'access point')} of the model ${model}`
  const reason = holdsAll ? `${what}, so all of them wait` : what
  return plans.flatMap(({ kind, device }) =>
    kind === 'upgrade' && (holdsAll || failed.has(device.id)) ? [{ kind: 'leave_out' as const, device, reason }] : [],
  )
}
