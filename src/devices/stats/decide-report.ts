import type { Hardware } from '../hardware/hardware.ts'
import type { DeviceCapabilities, VcMember } from '../tables.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { type ProvenBoot, type ReportTime, type ReportedBoot, decideBootedAt, findNewBoot } from './decide-boot.ts'
import type { FirmwareProgress } from './fwupdate.ts'

/** The reports of a device since it connected. */
export interface Report {
  /**
   * Members of `device_status.load` in the report: `cpu_percent`, `memory_total`, ... `ip` is null if it lists the
   * addresses of the device, and there is none.
   */
  readonly load: Readonly<Record<string, unknown>>
  readonly uptimeS: number | null
  /** As in BootClaims. */
  readonly isOfParts?: boolean
  /** As in BootClaims. */
  readonly isOfHello?: boolean
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
  readonly connectedMs: number | null
}

export interface ReportDecision extends ReportedStatus {
  /** The boot that it proves, other than the known one. */
  readonly newBoot: ProvenBoot | null
}

/**
 * Decides what a report changes. A boot clears the load except for the address, so that values of two boots are never
 * compared.
 */
export function decideReport(known: ReportedStatus, report: Report, time: ReportTime): ReportDecision {
  const before = known.load?.['uptime_s']
  const { uptimeS, isOfParts = false } = report
  const newBoot = findNewBoot({ ...known, uptimeS: typeof before === 'number' ? before : null }, report, time)
  const uptime = uptimeS === null ? {} : { uptime_s: uptimeS }
  const load: Readonly<Record<string, unknown>> = {
    ...(newBoot === null ? known.load : addressIn(known.load)),
    ...report.load,
    ...uptime,
  }
  // Times of an earlier boot don't count any more.
  const since = { connectedAt: known.connectedAt, bootedAt: newBoot === null ? known.bootedAt : null }
  const bootedAt = uptimeS === null ? null : decideBootedAt(since, { uptimeS, isOfParts }, time)
  return {
    connectedAt: known.connectedAt,
    connectedMs: known.connectedMs,
    newBoot,
    load: load['ip'] === null ? withoutAddress(load) : load,
    bootCount: known.bootCount + (newBoot === null ? 0 : 1),
    bootedAt: bootedAt ?? newBoot?.at ?? known.bootedAt,
    bootKnownMs: newBoot !== null || uptimeS !== null ? time.atMs : known.bootKnownMs,
  }
}

function addressIn(load: ReportedStatus['load']): Readonly<Record<string, unknown>> {
  const ip = load?.['ip']
  return ip === undefined ? {} : { ip }
}

function withoutAddress({ ip: _, ...load }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return load
}
