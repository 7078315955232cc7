import type { FwUpdate } from '../../platform/schema/devices.ts'
import { progressAt } from './fwupdate.ts'

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
    fwupdate: report.firmware === null ? known.fwupdate : moveOn(known.fwupdate, report.firmware, at),
  }
}

/**
 * Upgrades begin and end an update, by evidence; what the device says only moves a running one on. And
 * never back: it may be late.
 */
function moveOn(update: FwUpdate | null, { operation, percent }: FirmwareProgress, at: Date): FwUpdate | null {
  if (update?.status !== 'inprogress') return update
  const { requested, downloaded, installed } = progressAt
  const part = (percent ?? 0) / 100
  const said = {
    idle: 0,
    download: requested + part * (downloaded - requested),
    install: downloaded + part * (installed - downloaded),
    success: installed,
    fail: 0,
  }[operation]
  const progress = Math.round(said)
  if (progress <= update.progress) return update
  return { ...update, progress, status_id: update.status_id + 1, timestamp: at.getTime() / 1000 }
}
