import type { FwUpdate } from '../../platform/schema/devices.ts'

/** Where a device is with installing firmware, in its own words; `percent` is of the operation. */
export interface FirmwareProgress {
  readonly operation: 'idle' | 'download' | 'install' | 'fail' | 'success'
  readonly percent: number | null
}

/** What a device said of itself since it connected. */
export interface Report {
  /** Members of `device_status.load` that it brings: `cpu_percent`, `memory_total`, ... */
  readonly load: Readonly<Record<string, unknown>>
  readonly uptimeS: number | null
  readonly firmware: FirmwareProgress | null
}

export interface ReportedStatus {
  readonly load: Readonly<Record<string, unknown>> | null
  readonly bootCount: number
  readonly bootedAt: Date | null
  readonly fwupdate: FwUpdate | null
}

export interface ReportDecision extends ReportedStatus {
  readonly booted: boolean
}

/**
 * What a report changes. An uptime below the one before is evidence of a boot; a connection that gave
 * evidence of its own has cleared the load, so that no boot counts twice.
 */
export function decideReport(known: ReportedStatus, report: Report, at: Date): ReportDecision {
  const before = known.load?.['uptime_s']
  const { uptimeS } = report
  const booted = uptimeS !== null && typeof before === 'number' && uptimeS < before
  const uptime = uptimeS === null ? {} : { uptime_s: uptimeS }
  return {
    booted,
    load: { ...(booted ? {} : known.load), ...report.load, ...uptime },
    bootCount: known.bootCount + (booted ? 1 : 0),
    bootedAt: uptimeS === null ? known.bootedAt : new Date(at.getTime() - uptimeS * 1000),
    fwupdate: report.firmware === null ? known.fwupdate : presentProgress(report.firmware, known.fwupdate, at),
  }
}

const statuses = {
  download: { status: 'inprogress', status_id: 1 },
  install: { status: 'inprogress', status_id: 2 },
  success: { status: 'success', status_id: 3 },
  fail: { status: 'failed', status_id: 4 },
} as const

/** Download is the first half of the work, install the second. */
function presentProgress({ operation, percent }: FirmwareProgress, before: FwUpdate | null, at: Date): FwUpdate | null {
  if (operation === 'idle') return before
  const half = Math.round((percent ?? 0) / 2)
  const progress = { download: half, install: 50 + half, success: 100, fail: before?.progress ?? 0 }[operation]
  return { ...statuses[operation], progress, timestamp: at.getTime() / 1000, will_retry: false }
}
