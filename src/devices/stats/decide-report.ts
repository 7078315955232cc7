import type { Hardware } from '../hardware/hardware.ts'
import type { DeviceCapabilities, FwUpdate, VcMember } from '../tables.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { type ProvenBoot, type ReportTime, type ReportedBoot, findNewBoot } from './decide-boot.ts'
import { progressAt } from './fwupdate.ts'

/** A device's progress in installing firmware, in its own words; `percent` is that of the operation. */
export interface FirmwareProgress {
  readonly operation: 'idle' | 'download' | 'install' | 'fail' | 'success'
  readonly percent: number | null
}

/** The reports of a device since it connected. */
export interface Report {
  /** Members of `device_status.load` in the report: `cpu_percent`, `memory_total`, ... */
  readonly load: Readonly<Record<string, unknown>>
  readonly uptimeS: number | null
  /** A boot that it reports. */
  readonly boot: ReportedBoot | null
  readonly firmware: FirmwareProgress | null
  /** Its members, if they have changed since the last report of them. */
  readonly members?: readonly VcMember[] | null
  /** Its capabilities, if they have changed since it connected. */
  readonly capabilities?: DeviceCapabilities | null
  /** Its hardware, if the report contains it. */
  readonly hardware?: Hardware | null
  /** Null: the report contains nothing about radios, ports and clients. */
  readonly telemetry: Telemetry | null
}

export interface ReportedStatus {
  readonly load: Readonly<Record<string, unknown>> | null
  readonly bootCount: number
  readonly bootedAt: Date | null
  readonly bootKnownMs: number | null
  readonly connectedAt: Date | null
  readonly fwupdate: FwUpdate | null
}

export interface ReportDecision extends ReportedStatus {
  /** The boot that it proves, other than the known one. */
  readonly newBoot: ProvenBoot | null
}

/** Decides what a report changes. A boot clears the load, so that values of two boots are never compared. */
export function decideReport(known: ReportedStatus, report: Report, time: ReportTime): ReportDecision {
  const before = known.load?.['uptime_s']
  const { uptimeS } = report
  const newBoot = findNewBoot({ ...known, uptimeS: typeof before === 'number' ? before : null }, report, time)
  const uptime = uptimeS === null ? {} : { uptime_s: uptimeS }
  const bootedAt = uptimeS === null ? null : new Date(time.at.getTime() - uptimeS * 1000)
  return {
    connectedAt: known.connectedAt,
    newBoot,
    load: { ...(newBoot === null ? known.load : {}), ...report.load, ...uptime },
    bootCount: known.bootCount + (newBoot === null ? 0 : 1),
    bootedAt: bootedAt ?? newBoot?.at ?? known.bootedAt,
    bootKnownMs: newBoot !== null || uptimeS !== null ? time.atMs : known.bootKnownMs,
    fwupdate: report.firmware === null ? known.fwupdate : moveOn(known.fwupdate, report.firmware, time.at),
  }
}

/**
 * Evidence from upgrades starts and ends an update; reports of the device only advance a running one. Progress never
 * decreases, because reports may arrive late.
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
