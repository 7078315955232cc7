import type { DeviceType } from '../../events/device-type.ts'
import type { Json } from '../../platform/database/json-column.ts'
import type { Bucket } from './decide-bucket.ts'
import type { Telemetry } from './telemetry.ts'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    deviceReport: DeviceReportTable
    deviceSummary: DeviceSummaryTable
    deviceSeries: DeviceSeriesTable
  }
}

/** See migration 41. */
export interface DeviceReportTable {
  orgId: string
  deviceId: string
  siteId: string | null
  reportedAt: Date
  /** Service time. */
  reportedMs: number
  /** The session that carried it; null: from before migration 521. */
  epoch: string | null
  report: Json<Omit<Telemetry, 'wireless' | 'wired'>>
  clients: Json<Pick<Telemetry, 'wireless' | 'wired'>>
  bucket: Json<Bucket> | null
}

export interface DeviceSummaryTable {
  orgId: string
  deviceId: string
  /** The type of the device, which never changes. */
  type: DeviceType
  band24Channel: number | null
  band24Bandwidth: number | null
  band24Power: number | null
  band5Channel: number | null
  band5Bandwidth: number | null
  band5Power: number | null
  band6Channel: number | null
  band6Bandwidth: number | null
  band6Power: number | null
  eth0PortSpeed: number | null
  lldpSystemName: string | null
  lldpSystemDesc: string | null
  lldpPortId: string | null
  lldpPortDesc: string | null
  lldpMgmtAddr: string | null
  radioMacs: Json<readonly string[]> | null
  activePorts: number | null
  totalPorts: number | null
  reportBytes: number
}

/** A bucket of ten minutes; null for values that none of its reports had. */
export interface DeviceSeriesTable {
  orgId: string
  deviceId: string
  createdAt: Date
  samples: number
  cpu: number | null
  memory: number | null
  clients: number | null
  /** Bigints: pg returns them as text. */
  rxBytes: string | null
  txBytes: string | null
  uptime: string | null
  util24: number | null
  util5: number | null
  util6: number | null
  clients24: number | null
  clients5: number | null
  clients6: number | null
}
