import type { InOrg } from '../access/scope.ts'
import { type Tx, json } from '../platform/database/db.ts'
import { copyRows } from '../platform/database/copy-rows.ts'
import { columnsOf, insertRows } from '../platform/database/rows.ts'
import { splitRowsLazily } from '../platform/database/split.ts'
import { writeParts } from '../platform/database/write-parts.ts'
import type {
  OrgPhasePlan,
  TargetCounts,
  UpgradeHop,
  UpgradeKind,
  UpgradeNote,
  UpgradePlan,
  UpgradeStatus,
} from './rollout.ts'

export interface NewOrgUpgrade {
  readonly id: string
  readonly kind: UpgradeKind
  readonly request: Readonly<Record<string, unknown>>
  readonly strategy: string
  readonly targetVersion: string
  readonly force: boolean
  readonly enableP2p: boolean
  readonly maxFailurePercentage: number | null
  readonly planned: number
  /** Null: each site has its own phases. */
  readonly phasePlan: OrgPhasePlan | null
  /** The phases of the downloads. Null: there are none, or each site has its own. */
  readonly downloadPlan: OrgPhasePlan | null
  readonly notes: readonly UpgradeNote[]
  /** The filter for devices that may join; null: none. */
  readonly joining: Readonly<Record<string, unknown>> | null
  /** When it looks for them, in service time; null: never. */
  readonly includeDueMs: number | null
  /** When it stops by itself; null: never. */
  readonly endsAt: Date | null
  readonly createdAt: Date
}

export interface NewSiteUpgrade {
  readonly id: string
  readonly siteId: string
  readonly status: UpgradeStatus
  readonly startAt: Date
  readonly rebootAt: Date
  readonly plan: UpgradePlan
  readonly counts: TargetCounts
  readonly total: number
  readonly notes: readonly UpgradeNote[]
  /** Null if there is nothing to do. */
  readonly dueMs: number | null
}

export interface NewTarget {
  readonly upgradeId: string
  readonly deviceId: string
  readonly mac: string
  readonly model: string
  readonly phase: number
  /** Null: it downloads when `phase` opens. */
  readonly downloadPhase: number | null
  /** Its position in the order of restarts of its site; null: there is no order. */
  readonly rank: number | null
  readonly ordinal: number
  readonly imageId: string
  readonly fromVersion: string | null
  readonly targetVersion: string
  /** Further strings by which devices report the target version; null: none. */
  readonly reported: readonly string[] | null
  /** Null: the device gets the version directly. Otherwise the three before are about the first hop. */
  readonly path: readonly UpgradeHop[] | null
  readonly force: boolean
  /** The device has the image already. */
  readonly staged: boolean
  readonly state: 'planned' | 'skipped'
}

export interface NewUpgrade {
  readonly org: NewOrgUpgrade
  readonly sites: readonly NewSiteUpgrade[]
  /** Each loop over them may make them anew: together they would be much of the memory that a large plan takes. */
  readonly targets: Iterable<NewTarget>
}

const siteColumns = columnsOf('siteUpgrade', {
  orgId: 'uuid',
  id: 'uuid',
  orgUpgradeId: 'uuid',
  siteId: 'uuid',
  status: 'text',
  startAt: 'timestamptz',
  rebootAt: 'timestamptz',
  plan: 'jsonb',
  downloads: 'jsonb',
  counts: 'jsonb',
  total: 'integer',
  notes: 'jsonb',
  createdAt: 'timestamptz',
  dueMs: 'float8',
  finishedAt: 'timestamptz',
})

const targetColumns = columnsOf('upgradeTarget', {
  orgId: 'uuid',
  upgradeId: 'uuid',
  deviceId: 'uuid',
  mac: 'text',
  model: 'text',
  phase: 'integer',
  downloadPhase: 'integer',
  rank: 'integer',
  ordinal: 'integer',
  imageId: 'uuid',
  fromVersion: 'text',
  targetVersion: 'text',
  reported: 'jsonb',
  path: 'jsonb',
  force: 'boolean',
  staged: 'boolean',
  state: 'text',
  enteredAt: 'timestamptz',
  timeline: 'text',
})

/** Inserts a whole plan. */
export async function insertUpgrade(tx: Tx, scope: InOrg, { org, sites, targets }: NewUpgrade): Promise<void> {
  const { orgId, actor } = scope
  await tx
    .insertInto('orgUpgrade')
    .values({
      ...org,
      orgId,
      request: json(org.request),
      joining: org.joining && json(org.joining),
      phasePlan: org.phasePlan && json(org.phasePlan),
      pendingByPhase: json(pendingOf(org.phasePlan)),
      downloadPlan: org.downloadPlan && json(org.downloadPlan),
      downloads: org.downloadPlan && json({ ...newDownloads, pending: pendingOf(org.downloadPlan) }),
      notes: json(org.notes),
      adminId: actor.adminId,
    })
    .execute()
  await insertSiteUpgrades(tx, scope, sites, { orgUpgradeId: org.id, createdAt: org.createdAt })
  const every = { enteredAt: org.createdAt, timeline: '' }
  await writeParts(splitRowsLazily(targets), (part) => insertTargets(tx, scope, part, every))
}

/** @param every The values that the site upgrades share. */
export async function insertSiteUpgrades(
  tx: Tx,
  { orgId }: InOrg,
  sites: readonly NewSiteUpgrade[],
  every: { readonly orgUpgradeId: string; readonly createdAt: Date },
): Promise<void> {
  const rows = sites.map((site) => ({
    ...site,
    downloads: site.plan.downloads === undefined ? null : newDownloads,
    finishedAt: site.dueMs === null ? every.createdAt : null,
  }))
  await insertRows(tx, siteColumns, rows, { every: { orgId, ...every } })
}

/** @param every The values that the targets share. */
export async function insertTargets(
  tx: Tx,
  { orgId }: InOrg,
  targets: readonly NewTarget[],
  every: { readonly enteredAt: Date; readonly timeline: string },
): Promise<void> {
  await copyRows(tx, targetColumns, targets, { every: { orgId, ...every } })
}

const newDownloads = { current: 1, gate_passed: 0, failures: {}, downloaded: {} }

/** All targets are planned. */
function pendingOf(plan: OrgPhasePlan | null): Record<string, number> {
  return Object.fromEntries(plan?.phase_sizes.map((size, index) => [index + 1, size]) ?? [])
}
