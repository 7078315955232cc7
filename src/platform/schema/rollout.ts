import type { Generated } from 'kysely'
import type { Json } from './json.ts'

export interface OrgUpgradeTable {
  orgId: string
  id: string
  request: Json<Record<string, unknown>>
  strategy: string
  targetVersion: string
  force: boolean
  enableP2p: boolean
  maxFailurePercentage: number | null
  adminId: string | null
  createdAt: Date
}

export type UpgradeStatus =
  | 'created'
  | 'queued'
  | 'downloading'
  | 'downloaded'
  | 'upgrading'
  | 'completed'
  | 'failed'
  | 'cancelled'

export interface SiteUpgradeTable {
  orgId: string
  id: string
  orgUpgradeId: string
  siteId: string
  status: UpgradeStatus
  stopping: 'failed' | 'cancelled' | null
  stopReason: string | null
  startAt: Date
  rebootAt: Date
  plan: Json<Record<string, unknown>>
  currentPhase: Generated<number>
  counts: Json<Record<string, number>>
  total: number
  notes: Json<unknown[]>
  createdAt: Date
  finishedAt: Date | null
  dueAt: Date | null
  leaseUntil: Date | null
  epoch: Generated<string>
}

export interface UpgradeTargetTable {
  orgId: string
  upgradeId: string
  deviceId: string
  mac: string
  model: string
  phase: number
  ordinal: number
  imageId: string | null
  fromVersion: string | null
  targetVersion: string
  state: string
  attempt: Generated<number>
  bootCount: number | null
  enteredAt: Date
  dueAt: Date | null
  reason: string | null
}

export interface ActiveUpgradeTargetTable {
  orgId: string
  deviceId: string
  upgradeId: string
}
