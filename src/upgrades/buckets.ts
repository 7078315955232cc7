import type { TargetState } from '../rollout/rollout.ts'
import { keysOf } from '../platform/records.ts'

/**
 * Names of the wire, and the corresponding states. `cancelled` is ours: the interface has no name for a device whose
 * upgrade was cancelled, and without the list the others would not add up to the total.
 */
export const buckets = {
  scheduled: ['planned', 'deferred'],
  download_requested: ['dl_requested'],
  downloading: ['downloading'],
  downloaded: ['downloaded', 'staged'],
  reboot_in_progress: ['reboot_requested', 'rebooting', 'rolling_back'],
  rebooted: ['verifying'],
  upgraded: ['snapshotting', 'upgraded'],
  failed: ['failed'],
  skipped: ['skipped'],
  cancelled: ['cancelled'],
} as const satisfies Record<string, readonly TargetState[]>

export type Bucket = keyof typeof buckets

const names = new Map<TargetState, Bucket>(
  keysOf(buckets).flatMap((name) => buckets[name].map((state) => [state, name])),
)

/** Returns the name that a state has on the wire. */
export function bucketOf(state: TargetState): Bucket {
  const name = names.get(state)
  if (name === undefined) throw new Error(`${state} has no name on the wire`)
  return name
}
