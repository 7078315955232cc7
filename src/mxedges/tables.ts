import type { Generated, GeneratedAlways } from 'kysely'
import type { CommandProgress } from '../devices/tables.ts'
import type { Json } from '../platform/json-column.ts'
import type { MxedgeFacts, MxedgeReport } from './sessions/facts.ts'
import type { MxedgeCommandKind } from './commands/command.ts'

declare module '../platform/schema.ts' {
  interface Schema {
    mxedgeRegistry: MxedgeRegistryTable
    mxcluster: MxclusterTable
    mxedge: MxedgeTable
    mxedgeImage: MxedgeImageTable
    mxedgeSession: MxedgeSessionTable
    mxedgeCommand: MxedgeCommandTable
  }
}

export interface MxedgeRegistryTable {
  id: string
  mac: string
  serial: string
  model: string
  claimCode: string
  orgId: string | null
  createdAt: Date
}

export interface MxclusterTable {
  orgId: string
  id: string
  doc: Json<Record<string, unknown>>
  createdAt: Date
  modifiedAt: Date
}

export interface MxedgeTable {
  orgId: string
  id: string
  siteId: string | null
  mxclusterId: string | null
  name: string
  model: string
  mac: string | null
  serial: string | null
  doc: Json<Record<string, unknown>>
  registrationCode: string
  registrationEpoch: Generated<number>
  registeredAt: Date | null
  /** SHA-256 of its public key, in hex. */
  registeredKey: string | null
  createdAt: Date
  modifiedAt: Date
  docBytes: GeneratedAlways<number>
}

export interface MxedgeImageTable {
  orgId: string
  mxedgeId: string
  /** 1 to 3. */
  number: number
  /** Name of its file. */
  name: string
  /** 0: not measured yet. */
  bytes: Generated<number>
  width: number
  height: number
  createdAt: Date
}

export interface MxedgeSessionTable {
  orgId: string
  mxedgeId: string
  nodeId: string
  /** A bigint: pg returns it as text. */
  epoch: string
  connected: boolean
  connectedAt: Date
  disconnectedAt: Date | null
  lostAt: Date | null
  lastSeenAt: Date
  facts: Json<MxedgeFacts>
  report: Json<MxedgeReport> | null
}

export type MxedgeCommandState = 'queued' | 'sent' | 'done' | 'rejected' | 'unknown' | 'expired' | 'cancelled'

export interface MxedgeCommandTable {
  orgId: string
  id: string
  mxedgeId: string
  kind: MxedgeCommandKind
  params: Json<Record<string, unknown>>
  state: Generated<MxedgeCommandState>
  epoch: string | null
  callId: number | null
  outcome: Json<Record<string, unknown>> | null
  progress: Json<CommandProgress> | null
  progressedAt: Date | null
  createdAt: Date
  expiresAt: Date
  sentAt: Date | null
  finishedAt: Date | null
}
