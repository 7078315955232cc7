import { progressAt } from '../devices/stats/fwupdate.ts'
import type { FwUpdate } from '../devices/tables.ts'
import type { TargetState } from './rollout.ts'
import type { DeviceUpgradeStep } from '../devices/commands/store-upgrades.ts'

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
  // The device runs its version; the snapshot is not part of the update.
  snapshotting: { progress: done, status: 'success' },
  rolling_back: { progress: 0, status: 'failed' },
  upgraded: { progress: done, status: 'success' },
  staged: 'cleared',
  failed: { progress: 0, status: 'failed' },
  skipped: 'cleared',
  cancelled: 'cleared',
} as const satisfies Record<TargetState, Pick<FwUpdate, 'progress' | 'status'> | 'kept' | 'cleared'>

/** Returns what a target in that state shows as its device's `fwupdate`. */
export function showProgress(state: TargetState, failedAttempts: number): DeviceUpgradeStep['shown'] {
  const shown = shownAs[state]
  if (shown === 'kept') return shown
  if (shown === 'cleared') return null
  const running = shown.status === 'inprogress' || shown.status === 'scheduled'
  return { ...shown, will_retry: running && failedAttempts > 0 }
}
