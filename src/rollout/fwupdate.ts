import type { FwUpdate } from '../platform/schema/devices.ts'
import type { TargetState } from './rollout.ts'
import type { FwUpdateChange } from './store-apply.ts'

/** At 70 the image is on the device. Source: contract notes, "Upgrades". */
const shownAs = {
  planned: { progress: 0, status: 'scheduled' },
  deferred: { progress: 0, status: 'scheduled' },
  dl_requested: { progress: 5, status: 'inprogress' },
  downloading: { progress: 30, status: 'inprogress' },
  rebooting: { progress: 70, status: 'inprogress' },
  verifying: { progress: 95, status: 'inprogress' },
  upgraded: { progress: 100, status: 'success' },
  failed: { progress: 0, status: 'failed' },
  skipped: null,
  cancelled: null,
} as const satisfies Record<TargetState, Pick<FwUpdate, 'progress' | 'status'> | null>

/** How far a target is, as its device's `fwupdate` shows it; null where nothing is to be shown. */
export function showProgress(deviceId: string, state: TargetState, failedAttempts: number): FwUpdateChange | null {
  const shown = shownAs[state]
  const running = shown?.status === 'inprogress' || shown?.status === 'scheduled'
  return shown && { ...shown, deviceId, will_retry: running && failedAttempts > 0 }
}
