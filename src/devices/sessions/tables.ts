import type { Generated } from 'kysely'
import type { DeviceType } from '../../events/device-type.ts'
import type { Json } from '../../platform/database/json-column.ts'
import type { DeviceCapabilities, VcMember } from '../tables.ts'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    gatewayNode: GatewayNodeTable
    deviceSession: DeviceSessionTable
  }
}

export interface GatewayNodeTable {
  id: string
  startedAt: Date
  leaseUntil: Date
}

/** The facts that a device reported when it connected; stored as a document, hence no undefined members. */
export interface DeviceFacts {
  readonly firmware: string
  readonly model: string
  readonly type: DeviceType
  /** The number on its label, if the device knows it. */
  readonly serial?: string
  readonly capabilities: DeviceCapabilities
  readonly members: readonly VcMember[] | null
  /**
   * The cause of its boot in the device's words, if it gave one when it connected. That proves no boot: see decision
   * 18.
   */
  readonly reason: string | null
  /** Names the boot, where the device can: another one proves a boot. */
  readonly boot_id?: string
  readonly ext_ip: string | null
}

export interface DeviceSessionTable {
  deviceId: string
  nodeId: string
  /** The protocol of the session, such as `ucentral`. */
  family: string
  epoch: string
  connected: boolean
  connectedAt: Date
  /** Service time. */
  connectedMs: Generated<number>
  lostAt: Date | null
  /** Service time; see migration 27. */
  disconnectedMs: number | null
  /** Service time; see migration 604. Null: the device has not come back from an outage since that migration. */
  returnedMs: number | null
  firmware: string
  reason: string | null
  bootId: string | null
  /** Those that are not columns: they hardly ever change. */
  facts: Json<Omit<DeviceFacts, 'firmware' | 'reason' | 'boot_id'>>
  /** The organization that the connection proved; null if the device proves its own identity. */
  orgId: string | null
  /** The expiry of the client certificate; null if the device proves a key. */
  certificateExpiresAt: Date | null
}
