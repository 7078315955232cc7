import type pg from 'pg'
import { type QueuedEvent, isQueuedEvent } from '../../events/store.ts'
import type { Limits } from '../../gateway/limits.ts'
import type { ProtocolOptions } from '../../gateway/protocols.ts'
import type { RepeatedRefusal } from '../../gateway/admission/refusals.ts'
import type { LogLevel } from '../../platform/log.ts'
import type { TimeReading } from '../../platform/time/service-clock.ts'
import type { WakeName, WokenRow } from '../../platform/database/wakes.ts'

/** The start data of the gateway's thread. */
export interface GatewayThreadData {
  readonly connection: pg.PoolConfig
  /** The folder with the key of the installation. */
  readonly dataDir: string
  readonly logLevel: LogLevel
  readonly baseUrl: string
  readonly time: TimeReading
  readonly protocols: ProtocolOptions
  readonly nodeId: string
  readonly localCertificates: boolean
  readonly limits?: Partial<Limits>
}

export interface GatewayPorts {
  readonly ucentralPort: number
  readonly edgePort: number
  /** Null where Junos devices can't call home. */
  readonly netconfPort: number | null
}

/** Reports work in the database; see Wakes. Both threads send it. */
export interface WakeMessage {
  readonly kind: 'wake'
  readonly name: WakeName
  readonly ids: readonly string[]
  /** Those of the rows that are events, without their texts, and those that are commands to send. */
  readonly rows: readonly WokenRow[]
}

/** The texts of events stay in their thread: the other one doesn't send an event before it is routed. */
export function wakeMessage(name: WakeName, ids: readonly string[], rows: readonly WokenRow[]): WakeMessage {
  if (name === 'sent_commands') return { kind: 'wake', name, ids, rows }
  const events = rows.filter(isQueuedEvent)
  return {
    kind: 'wake',
    name,
    ids,
    rows: events.map(({ id, orgId, topic }): QueuedEvent => ({ id, orgId, topic, webhookId: null, json: null })),
  }
}

export type ToGateway =
  | WakeMessage
  | { readonly kind: 'time'; readonly reading: TimeReading }
  /** Asks for `refusals`. */
  | { readonly kind: 'list-refusals'; readonly question: number }
  | { readonly kind: 'stop' }

export type FromGateway =
  | WakeMessage
  /** Devices can connect. */
  | { readonly kind: 'listening'; readonly ports: GatewayPorts; readonly wakes: readonly WakeName[] }
  /** Sent when the number of connected devices and edge appliances has changed, once a second at most. */
  | { readonly kind: 'links'; readonly count: number }
  | { readonly kind: 'refusals'; readonly question: number; readonly refusals: readonly RepeatedRefusal[] }
  /** Lines are written by one thread only, so that those of two threads never mix. */
  | { readonly kind: 'log'; readonly line: string }
