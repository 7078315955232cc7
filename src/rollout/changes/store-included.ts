import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'
import type { UpgradeNote } from '../rollout.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import { type NewTarget, insertTargets } from '../store-create.ts'
import { encodeStep } from '../targets/timeline.ts'
import type { InclusionPlan } from './plan-inclusion.ts'
import { isSkippedByPlan } from './store-inclusion.ts'

const siteColumns = columnsOf('siteUpgrade', {
  orgId: 'uuid',
  id: 'uuid',
  status: 'text',
  hold: 'jsonb',
  plan: 'jsonb',
  currentPhase: 'integer',
  phaseOpenedMs: 'float8',
  counts: 'jsonb',
  downloads: 'jsonb',
  total: 'integer',
})

export interface Inclusion {
  readonly plan: InclusionPlan
  /** Notes about devices that join, by site upgrade. */
  readonly notes: ReadonlyMap<string, readonly UpgradeNote[]>
  readonly now: Date
  /** Service time. */
  readonly nowMs: number
}

/** Writes the targets that join, and the changed upgrade. The caller has locked it and its site upgrades. */
export async function insertIncluded(
  tx: Tx,
  scope: OrgScope,
  id: string,
  { plan, notes, now, nowMs }: Inclusion,
): Promise<void> {
  const rows = plan.sites.map((site) => ({ ...site, orgId: scope.orgId }))
  await updateRows(tx, siteColumns, rows, {
    key: ['orgId', 'id'],
    set: sql`finished_at = null, due_ms = ${nowMs}`,
  })
  const timeline = encodeStep({ state: 'planned', at: now, reason: 'joined the upgrade' })
  await deleteSkipped(tx, scope, id, plan)
  await insertTargets(tx, scope, plan.targets, { enteredAt: now, timeline })
  await deleteNotes(tx, scope, id, plan)
  await appendNotes(tx, scope, notes)
  const { phases, downloads } = plan
  await tx
    .updateTable('orgUpgrade')
    .set({
      planned: plan.planned,
      ...(phases !== null && {
        phasePlan: sql`phase_plan || ${planText(phases)}::jsonb`,
        pendingByPhase: json(phases.pending),
      }),
      ...(downloads !== null && {
        downloadPlan: sql`download_plan || ${planText(downloads)}::jsonb`,
        downloads: sql`jsonb_set(downloads, '{pending}', ${JSON.stringify(downloads.pending)}::jsonb)`,
      }),
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

function planText({ sizes, gates }: NonNullable<InclusionPlan['phases']>): string {
  return JSON.stringify({ phase_sizes: sizes, gates })
}

/** Deletes the notes that say why the plan left out devices that are now targets. They may be those of another site. */
async function deleteNotes(tx: Tx, scope: InOrg, orgUpgradeId: string, { targets }: InclusionPlan): Promise<void> {
  const isJoined = sql<boolean>`coalesce(note->>'mac' = any(${targets.map(({ mac }) => mac)}::text[]), false)`
  await sql`
    update site_upgrade set notes = (
      select coalesce(jsonb_agg(note order by place) filter (where not ${isJoined}), '[]')
      from jsonb_array_elements(notes) with ordinality as noted (note, place))
    where org_id = ${scope.orgId} and org_upgrade_id = ${orgUpgradeId}
      and exists (select from jsonb_array_elements(notes) as note where ${isJoined})
  `.execute(tx)
}

async function appendNotes(tx: Tx, scope: InOrg, notes: Inclusion['notes']): Promise<void> {
  if (notes.size === 0) return
  const texts = [...notes.values()].map((added) => JSON.stringify(added))
  await sql`
    update site_upgrade set notes = site_upgrade.notes || added.notes::jsonb
    from unnest(${[...notes.keys()]}::uuid[], ${texts}::text[]) as added (id, notes)
    where site_upgrade.org_id = ${scope.orgId} and site_upgrade.id = added.id
  `.execute(tx)
}

/** The devices that an upgrade awaited and that did not join, as its record shows them. */
export interface NotJoined {
  /** Those that run the version. */
  readonly skipped: readonly NewTarget[]
  /** Why the others can't be upgraded, by site upgrade. */
  readonly notes: ReadonlyMap<string, readonly UpgradeNote[]>
}

/** The caller has locked the organization upgrade. */
export async function insertNotJoined(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  { skipped, notes, now }: NotJoined & { readonly now: Date },
): Promise<void> {
  const counts = Map.groupBy(skipped, ({ upgradeId }) => upgradeId)
  await insertTargets(tx, scope, skipped, { enteredAt: now, timeline: '' })
  await sql`
    update site_upgrade part set total = total + more.count,
      counts = jsonb_set(counts, '{skipped}', to_jsonb((counts->>'skipped')::integer + more.count))
    from unnest(${[...counts.keys()]}::uuid[], ${[...counts.values()].map(({ length }) => length)}::integer[]) more (id, count)
    where part.org_id = ${scope.orgId} and part.id = more.id
  `.execute(tx)
  await appendNotes(tx, scope, notes)
  const ids = new Set([...counts.keys(), ...notes.keys()])
  noteUpgrades(
    tx,
    scope,
    [...ids].map((id) => ({ orgUpgradeId, id })),
  )
}

/** Deletes the targets that the plan skipped and that are to be upgraded now. They may be those of another site. */
async function deleteSkipped(tx: Tx, scope: InOrg, orgUpgradeId: string, { targets }: InclusionPlan): Promise<void> {
  await sql`
    with gone as (
      delete from upgrade_target target using site_upgrade part
      where part.org_id = ${scope.orgId} and part.org_upgrade_id = ${orgUpgradeId}
        and target.org_id = part.org_id and target.upgrade_id = part.id and ${isSkippedByPlan}
        and target.device_id = ${anyOf(targets.map(({ deviceId }) => deviceId))}
      returning target.upgrade_id
    )
    update site_upgrade part set total = total - less.count,
      counts = jsonb_set(counts, '{skipped}', to_jsonb((counts->>'skipped')::integer - less.count))
    from (select upgrade_id, count(*)::integer as count from gone group by upgrade_id) less
    where part.org_id = ${scope.orgId} and part.id = less.upgrade_id
  `.execute(tx)
}
