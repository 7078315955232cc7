import { type TargetState, isTerminal } from '../rollout.ts'
import { type ReleasableState, releasableStates } from './plan-release.ts'

const releasable: ReadonlySet<TargetState> = new Set(releasableStates)

/** The device has the image and is flashing it, or was commanded to install it. */
export const INSTALLS = 'installs the image or restarts'

/** True if the upgrade has not changed the device yet. Whether a commanded one can still be stopped, its command shows. */
export function isReleasable(state: TargetState): state is ReleasableState {
  return releasable.has(state)
}

/** Returns why a device in another state can't be excluded from its upgrade. */
export function findExclusionRefusal(state: Exclude<TargetState, ReleasableState>): string {
  if (isTerminal(state)) return 'has ended in this upgrade'
  if (state === 'rebooting') return INSTALLS
  return state === 'rolling_back' ? 'is being restored' : 'has restarted with the version'
}

/** The reason of a target whose device a person has excluded. */
export function exclusionReason(by: string, note: string | null): string {
  return note === null ? `excluded by ${by}` : `excluded by ${by}: ${note}`
}
