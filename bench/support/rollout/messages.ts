import type pg from 'pg'
import type { WakeMessage } from '../../../src/app/gateway/gateway-messages.ts'
import type { TimeReading } from '../../../src/platform/time/service-clock.ts'
import type { Needs } from '../loop-watch.ts'

/** Creates an organization with these devices, and connects them. */
export interface ConnectMessage {
  readonly kind: 'connect'
  readonly connection: pg.PoolConfig
  /** In hexadecimal digits. */
  readonly masterKey: string
  readonly devices: number
  readonly sites: number
  readonly time: TimeReading
}

/** Messages to the process of the devices. */
export type ToDevices =
  | WakeMessage
  | ConnectMessage
  | { readonly kind: 'time'; readonly reading: TimeReading }
  /** Answers the commands that are sent from now on. */
  | { readonly kind: 'answer' }
  /** Answers no more, and reports. */
  | { readonly kind: 'report' }
  | { readonly kind: 'end' }

export interface DevicesReport extends Needs {
  readonly kind: 'report'
  readonly commands: number
  readonly flashes: number
  readonly flashedTwice: number
  /** The processor time since the devices were connected. */
  readonly cpuMs: number
}

/** Messages from the process of the devices. */
export type FromDevices =
  | WakeMessage
  | { readonly kind: 'connected'; readonly orgId: string; readonly nodeId: string; readonly connectMs: number }
  | DevicesReport
