import { progressAt } from '../devices/stats/fwupdate.ts'
import type { FwUpdate } from '../devices/tables.ts'
import type { TargetState } from './rollout.ts'
import type { FwUpdateChange } from '../devices/stats/store-fwupdates.ts'

const { requested, downloaded, installed, verifying, done } = progressAt

/** `kept`: the download itself advances the progress. `cleared`: no update is in progress any more. */
const shownAs = {
  planned: { progress: 0, status: 'scheduled' },
  deferred: { progress: 0, status: 'scheduled' },
  dl_requested: { progress: requested, status: 'inprogress' },
  downloading: 'kept',
  downloaded: { progress: downloaded, status: 'inprogress' },
  reboot_requested: { progress: downloaded, status: 'inprogress' },
  rebooting: { progress: installed, status: 'inprogress' },
  verifying: { progress: verifying, status: 'inprogress' },
  // The device runs its version; the snapshot is no part of the update.
  snapshotting: { progress: done, status: 'success' },
  rolling_back: { progress: 0, status: 'failed' },
  upgraded: { progress: done, status: 'success' },
  staged: 'cleared',
  failed: { progress: 0, status: 'failed' },
  skipped: 'cleared',
  cancelled: 'cleared',
} as const satisfies Record<TargetState, Pick<FwUpdate, 'progress' | 'status'> | 'kept' | 'cleared'>

/** Returns the progress of a target for its device's `fwupdate`; null if that does not change. */
export function showProgress(deviceId: string, state: TargetState, failedAttempts: number): FwUpdateChange | null {
  const shown = shownAs[state]
  if (shown === 'kept') return null
  if (shown === 'cleared') return { deviceId, shown: null }
  const running = shown.status === 'inprogress' || shown.status === 'scheduled'
  return { deviceId, shown: { ...shown, will_retry: running && failedAttempts > 0 } }
}
