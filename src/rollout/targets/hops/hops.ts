import { isReportOf } from '../../../firmware/version-identity.ts'
import { waitingStates } from '../../rollout.ts'
import type { UpgradeHop } from '../../tables.ts'
import type { TargetDecision, TargetNow } from '../target.ts'

export type { UpgradeHop } from '../../tables.ts'

/** A target with the version that is installed next, and all that it installs in turn. */
interface Bound {
  readonly targetVersion: string
  readonly path: readonly UpgradeHop[] | null
}

/** Returns the version that the device has at the end. */
export function finalVersionOf({ targetVersion, path }: Bound): string {
  return path?.at(-1)?.version ?? targetVersion
}

/** Returns the hops after the present one. */
export function laterHops({ targetVersion, path }: Bound): readonly UpgradeHop[] {
  return path === null ? [] : path.slice(path.findIndex(({ version }) => version === targetVersion) + 1)
}

/** Returns the images that a target has yet to get, in order. */
export function imagesOf(target: Bound & { readonly imageId: string }): string[] {
  return [target.imageId, ...laterHops(target).map(({ image_id: id }) => id)]
}

interface AssignedImages {
  readonly imageId: string
  readonly laterImages: readonly string[] | null
}

/** Returns images in the form in which the assignment of a device to an upgrade stores them. */
export function splitImages([first = '', ...later]: readonly string[]): AssignedImages {
  return { imageId: first, laterImages: later.length === 0 ? null : later }
}

/** The states in which a device may install a version without a command of the upgrade. */
const waiting: ReadonlySet<string> = new Set(waitingStates)

/**
 * True if the target leaves the phase of its download when it goes on to the next version. It stays there if its device has got
 * to a version by itself: then it has yet to download an image in that phase.
 * @param target As it was before.
 */
export function leavesDownloadPhase({ state }: Pick<TargetNow, 'state'>): boolean {
  return !waiting.has(state)
}

/**
 * Moves a target that has reached its present version on to the next one of its path. It is planned again, so that each
 * hop waits for its turn like a separate upgrade: for the limits, the maintenance windows and a pause. A device that
 * has advanced further by other means continues from there.
 */
export function hopInstead(target: TargetNow, stopping: boolean, decision: TargetDecision): TargetDecision {
  const later = laterHops(target)
  const [next] = later
  const hasArrived = next !== undefined && decision.kind === 'move' && arrivals.has(decision.to)
  if (stopping) return hasArrived ? stopAt(target.targetVersion) : stopBefore(target, decision)
  if (next === undefined) return decision
  if (mayBeAhead(target, decision) && target.device?.link === 'connected') {
    const ahead = later.findLast((hop) => runs(target, hop))
    if (ahead !== undefined) return hopTo(ahead)
  }
  return hasArrived ? hopTo(next) : decision
}

/** A device that was to go on from the version of an earlier hop stays there, unless it is cancelled for a reason of its own. */
function stopBefore(target: TargetNow, decision: TargetDecision): TargetDecision {
  if (decision.kind !== 'move' || decision.to !== 'cancelled' || decision.reason !== undefined) return decision
  const reached = reachedVersion(target)
  return reached === null ? decision : stopAt(reached)
}

/** A target with the way of its device to the requested version. */
export type OnItsWay = Pick<TargetNow, 'targetVersion' | 'path' | 'attempt'>

/** Returns the version of an earlier hop from which the device was to go on; null: it has installed none. */
function reachedVersion({ targetVersion, path, attempt }: OnItsWay): string | null {
  if (attempt === 0 || path === null) return null
  return path[path.findIndex(({ version }) => version === targetVersion) - 1]?.version ?? null
}

/** Returns why a device left its upgrade, and where it stays if it was on its way. */
export function leavingReason(reason: string, target: OnItsWay): string {
  const reached = reachedVersion(target)
  return reached === null ? reason : `${reason}; ${stoppedText(reached)}`
}

function stoppedText(version: string): string {
  return `stopped on its way, at ${version}`
}

function stopAt(version: string): TargetDecision {
  return { kind: 'move', to: 'cancelled', reason: stoppedText(version) }
}

/**
 * True if the decision would take a device that runs a later version back to the present one, or fail it on its way. No command of the
 * target can have an effect any more then. A device that is being restored returns to its backup version, whatever it runs.
 */
function mayBeAhead({ state }: TargetNow, decision: TargetDecision): boolean {
  if (waiting.has(state)) return true
  if (state === 'rolling_back') return false
  return decision.kind === 'command' || (decision.kind === 'move' && decision.to === 'failed')
}

const arrivals: ReadonlySet<string> = new Set(['upgraded', 'snapshotting', 'skipped'])

/** Every member of a Virtual Chassis included. */
function runs({ device }: TargetNow, hop: UpgradeHop): boolean {
  return device !== null && [device.firmware, ...device.memberFirmware].every((said) => isReportOf(said, hop))
}

function hopTo(hop: UpgradeHop): TargetDecision {
  return { kind: 'move', to: 'planned', hop, failedAttempts: 0, lostAttempts: 0, staged: false }
}
