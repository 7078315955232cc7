import type { Generated } from 'kysely'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    webhook: WebhookTable
    webhookMessage: WebhookMessageTable
    webhookPing: WebhookPingTable
    webhookLane: WebhookLaneTable
    webhookDelivery: WebhookDeliveryTable
    webhookBody: WebhookBodyTable
    webhookParkedMessage: WebhookParkedMessageTable
    webhookNotice: WebhookNoticeTable
    webhookDeletion: WebhookDeletionTable
  }
}

export interface WebhookTable {
  orgId: string
  id: string
  siteId: string | null
  enabled: boolean
  topics: string[]
  doc: DocumentColumn
  secrets: Buffer | null
  createdAt: Date
  modifiedAt: Date
  disabledAt: Date | null
  disabledWhy: 'request' | 'gone' | 'failing' | null
}

export interface WebhookMessageTable {
  orgId: string
  id: string
  webhookId: string
  topic: string
  body: Buffer
  eventCount: number
  attempt: Generated<number>
  /** Attempts whose answers requested a pause; `attempt` counts them as well. */
  pauses: Generated<number>
  dueAt: Date
  createdAt: Date
  orderKey: string | null
  pullSeq: string | null
  payloadId: string | null
  payloadAt: Date | null
}

export interface WebhookPingTable {
  orgId: string
  id: string
  webhookId: string
  body: Buffer
  createdAt: Date
}

export interface WebhookLaneTable {
  orgId: string
  webhookId: string
  pending: Generated<number>
  /** No waiting message is due before this; without waiting messages it means nothing. */
  dueFrom: Generated<Date>
  nextAt: Date | null
  leaseUntil: Date | null
  leasedBy: string | null
  epoch: Generated<string>
  vtime: Generated<number>
  failures: Generated<number>
  openUntil: Date | null
  /** When the first of the failures was; with `pulled` since when none has been acknowledged, recorded after a day. */
  failingSince: Date | null
  keyed: Generated<boolean>
  pulled: Generated<boolean>
  pullSeq: Generated<string>
  overflowed: Generated<string>
  overflowedAt: Date | null
  /** When the first message was dropped of those that were dropped last, with less than OVERFLOWING_MS between them. */
  overflowingSince: Date | null
  countedEpoch: Generated<string>
  unreported: Generated<number>
  /** With `followersId` the position before which messages may wait for a retry that has become due since; null if none do. */
  followersAt: Date | null
  followersId: string | null
  /** When the next message of a further replay may be due; earlier ones are due until then. */
  replaysUntil: Date | null
  /** With `orderedId` the place up to which messages that are fetched are in the order of their creation; null if all are. */
  orderedAt: Date | null
  orderedId: string | null
  /** Since when a receiver that fetches has acknowledged nothing, and the service time of that; see watchUnfetched(). */
  unfetchedSince: Date | null
  unfetchedMs: number | null
}

export interface WebhookDeliveryTable {
  orgId: string
  id: string
  webhookId: string
  messageId: string
  siteId: string | null
  topic: string
  attempt: number
  status: 'success' | 'failure'
  statusCode: number | null
  error: string | null
  reqUrl: string
  createdAt: Date
  durationMs: number | null
  final: boolean | null
  nextAttempt: Date | null
}

export interface WebhookBodyTable {
  orgId: string
  deliveryId: string
  /** A JSON object. */
  reqHeaders: string
  headersReduced: boolean | null
  signatures: Buffer | null
  /** Null if the record of another delivery has it. */
  reqPayload: string | null
  respHeaders: string | null
  respBody: string | null
  remoteAddress: string | null
  payloadId: string | null
  payloadAt: Date | null
  payloadBytes: number | null
  createdAt: Date
}

export interface WebhookParkedMessageTable {
  orgId: string
  id: string
  webhookId: string
  topic: string
  body: Buffer
  eventCount: number
  attempt: number
  reason: 'exhausted' | 'expired'
  createdAt: Date
  parkedAt: Date
  orderKey: string | null
}

export interface WebhookNoticeTable {
  orgId: string
  webhookId: string
  failingSince: Date
  hours: number
  mailedHours: Generated<number>
}

/** A deleted webhook that may still have messages. */
export interface WebhookDeletionTable {
  orgId: string
  webhookId: string
}
