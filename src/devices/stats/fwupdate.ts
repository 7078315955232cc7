/**
 * The progress of a firmware update at each of its marks, in percent of the whole. Clients take 70 for "the image is on
 * the device" and 100 for the end.
 */
export const progressAt = { requested: 5, downloaded: 70, installed: 90, verifying: 95, done: 100 } as const

/** A device's progress in installing firmware, in its own words; `percent` is that of the operation. */
export interface FirmwareProgress {
  readonly operation: 'idle' | 'download' | 'install' | 'fail' | 'success'
  readonly percent: number | null
}

/**
 * Returns the progress of the whole update, in percent. Evidence from upgrades starts and ends an update; what the device
 * reports only advances a running one.
 */
export function progressOf({ operation, percent }: FirmwareProgress): number {
  const { requested, downloaded, installed } = progressAt
  const part = (percent ?? 0) / 100
  const said = {
    idle: 0,
    download: requested + part * (downloaded - requested),
    install: downloaded + part * (installed - downloaded),
    success: installed,
    fail: 0,
  }[operation]
  return Math.round(said)
}
