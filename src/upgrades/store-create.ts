import { sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { type Reader, type Tx, anyOf, json } from '../platform/db.ts'
import type { CommandKind, VcMember } from '../devices/tables.ts'
import type { DeviceType } from '../events/device-type.ts'
import type { OrgPhasePlan, TargetCounts, UpgradeNote, UpgradePlan, UpgradeStatus } from '../rollout/rollout.ts'

/** A device of a site, as an upgrade sees it before it is planned. */
export interface Candidate {
  readonly id: string
  readonly siteId: string
  readonly mac: string
  readonly type: DeviceType
  readonly model: string
  readonly name: string | null
  readonly role: string | null
  readonly connected: boolean
  /** The version that the device reported last; null if it has never connected. */
  readonly fromVersion: string | null
  readonly memberVersions: readonly string[]
  /** What its driver could ask it to do when it connected last. */
  readonly commands: readonly CommandKind[]
}

/** The devices of the sites, in no order. */
export async function listCandidates(
  reader: Reader,
  scope: OrgScope,
  siteIds: readonly string[],
): Promise<Candidate[]> {
  const rows = await reader
    .selectFrom('device as d')
    .leftJoin('deviceStatus as s', (on) => on.onRef('s.orgId', '=', 'd.orgId').onRef('s.deviceId', '=', 'd.id'))
    .select([
      'd.id',
      'd.siteId',
      'd.mac',
      'd.type',
      'd.model',
      'd.name',
      's.connected',
      's.firmware',
      's.members',
      's.capabilities',
    ])
    .select(sql<string | null>`d.doc->>'role'`.as('role'))
    .where('d.orgId', '=', scope.orgId)
    .where('d.siteId', '=', anyOf(siteIds))
    .execute()
  return rows.flatMap(({ siteId, connected, firmware, members, capabilities, ...device }) => {
    if (siteId === null) return []
    const memberVersions = (members ?? []).map((member: VcMember) => member.firmware)
    const known = { connected: connected ?? false, fromVersion: firmware, commands: capabilities?.commands ?? [] }
    return [{ ...device, ...known, siteId, memberVersions }]
  })
}

export interface WantedDevice {
  readonly deviceId: string
  readonly upgradeId: string
}

/**
 * Reserves devices for upgrades until their targets end, except those that another upgrade has.
 * @returns The ids of the devices that were reserved.
 */
export async function insertActiveTargets(
  tx: Tx,
  scope: OrgScope,
  wanted: readonly WantedDevice[],
): Promise<Set<string>> {
  const rows = wanted.map(({ deviceId, upgradeId }) => ({ device_id: deviceId, upgrade_id: upgradeId }))
  // Two requests at once wait for each other in the order of the ids, hence never in a circle.
  const inserted = await sql<{ deviceId: string }>`
    insert into active_upgrade_target (org_id, device_id, upgrade_id)
    select ${scope.orgId}::uuid, device_id, upgrade_id
    from jsonb_to_recordset(${json(rows)}::jsonb) as wanted (device_id uuid, upgrade_id uuid)
    order by device_id
    on conflict do nothing
    returning device_id
  `.execute(tx)
  return new Set(inserted.rows.map(({ deviceId }) => deviceId))
}

export interface NewOrgUpgrade {
  readonly id: string
  readonly request: Readonly<Record<string, unknown>>
  readonly strategy: string
  readonly targetVersion: string
  readonly force: boolean
  readonly maxFailurePercentage: number | null
  readonly planned: number
  /** Null: each site has phases of its own. */
  readonly phasePlan: OrgPhasePlan | null
  readonly notes: readonly UpgradeNote[]
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
  /** Null where there is nothing to do. */
  readonly dueMs: number | null
}

export interface NewTarget {
  readonly upgradeId: string
  readonly deviceId: string
  readonly mac: string
  readonly model: string
  readonly phase: number
  readonly ordinal: number
  readonly imageId: string
  readonly fromVersion: string | null
  readonly targetVersion: string
  readonly force: boolean
  readonly state: 'planned' | 'skipped'
}

export interface NewUpgrade {
  readonly org: NewOrgUpgrade
  readonly sites: readonly NewSiteUpgrade[]
  readonly targets: readonly NewTarget[]
}

/** Writes a whole plan; three statements, however many sites and devices. */
export async function insertUpgrade(tx: Tx, scope: OrgScope, { org, sites, targets }: NewUpgrade): Promise<void> {
  const { orgId, actor } = scope
  await tx
    .insertInto('orgUpgrade')
    .values({
      ...org,
      orgId,
      request: json(org.request),
      phasePlan: org.phasePlan && json(org.phasePlan),
      pendingByPhase: json(
        Object.fromEntries(org.phasePlan?.phase_sizes.map((size, index) => [index + 1, size]) ?? []),
      ),
      notes: json(org.notes),
      enableP2p: false,
      adminId: actor.adminId,
    })
    .execute()
  const siteRows = sites.map((site) => ({
    id: site.id,
    site_id: site.siteId,
    status: site.status,
    start_at: site.startAt,
    reboot_at: site.rebootAt,
    plan: site.plan,
    counts: site.counts,
    total: site.total,
    notes: site.notes,
    due_ms: site.dueMs,
    finished_at: site.dueMs === null ? org.createdAt : null,
  }))
  await sql`
    insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total,
      notes, created_at, due_ms, finished_at)
    select ${orgId}::uuid, id, ${org.id}::uuid, site_id, status, start_at, reboot_at, plan, counts, total,
      notes, ${org.createdAt}, due_ms, finished_at
    from jsonb_to_recordset(${json(siteRows)}::jsonb) as new (id uuid, site_id uuid, status text,
      start_at timestamptz, reboot_at timestamptz, plan jsonb, counts jsonb, total integer, notes jsonb,
      due_ms float8, finished_at timestamptz)
  `.execute(tx)
  const targetRows = targets.map((target) => ({
    upgrade_id: target.upgradeId,
    device_id: target.deviceId,
    mac: target.mac,
    model: target.model,
    phase: target.phase,
    ordinal: target.ordinal,
    image_id: target.imageId,
    from_version: target.fromVersion,
    target_version: target.targetVersion,
    force: target.force,
    state: target.state,
  }))
  await sql`
    insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, from_version,
      target_version, force, state, entered_at)
    select ${orgId}::uuid, upgrade_id, device_id, mac, model, phase, ordinal, image_id, from_version,
      target_version, force, state, ${org.createdAt}
    from jsonb_to_recordset(${json(targetRows)}::jsonb) as new (upgrade_id uuid, device_id uuid, mac text, model text,
      phase integer, ordinal integer, image_id uuid, from_version text, target_version text, force boolean, state text)
  `.execute(tx)
}
