import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import { ofReboots } from '../gates/decide-hold.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import type { Now } from '../site-upgrade-now.ts'
import { type LockedSiteUpgrade, needsFitness } from '../store.ts'
import { type Installing, listUnfit } from '../targets/store-unfit.ts'
import { versionRun } from '../targets/store-versions.ts'
import { listAbsent } from './decide-absent.ts'
import { type Replaced, noteReplaced } from './note-replaced.ts'

/**
 * Lets connected devices of later phases take the places of those of the open phase that are absent: an upgrade that was planned
 * for the night would otherwise try out the version on devices that are switched off. The sizes of the phases stay. The caller has
 * locked the site upgrades, and reads them again.
 * @returns True if devices have changed their phases.
 */
export async function replaceAbsent(
  tx: Tx,
  scope: InOrg,
  siteUpgrades: readonly LockedSiteUpgrade[],
  at: Pick<Now, 'now' | 'nowMs'>,
): Promise<boolean> {
  const changed: LockedSiteUpgrade[] = []
  for (const siteUpgrade of siteUpgrades) {
    // A round that reads a portion may have passed the devices that take the places.
    const absent = siteUpgrade.portion === null ? listAbsent(siteUpgrade, at) : []
    if (absent.length === 0) continue
    const online = await listReplacements(tx, scope, siteUpgrade, absent.length)
    const replaced = online.length === 0 ? [] : await swapPlaces(tx, scope, siteUpgrade.id, { absent, online })
    if (replaced.length === 0) continue
    await updateNotes(tx, scope, siteUpgrade, replaced)
    changed.push(siteUpgrade)
  }
  noteUpgrades(tx, scope, changed)
  return changed.length > 0
}

async function updateNotes(
  tx: Tx,
  { orgId }: InOrg,
  { id, currentPhase }: Pick<LockedSiteUpgrade, 'id' | 'currentPhase'>,
  replaced: readonly Replaced[],
): Promise<void> {
  const { notes } = await tx
    .selectFrom('siteUpgrade')
    .select('notes')
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await tx
    .updateTable('siteUpgrade')
    .set({ notes: json(noteReplaced(notes, { phase: currentPhase, units: ofReboots.units }, replaced)) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

/** How many devices are examined at a time. */
const EXAMINED = 500

/** Returns the ids of the first connected devices of later phases, in the order of the plan, that would try out the version. */
async function listReplacements(
  tx: Tx,
  scope: InOrg,
  siteUpgrade: Pick<LockedSiteUpgrade, 'id' | 'currentPhase' | 'hasLowest' | 'plan'>,
  count: number,
): Promise<string[]> {
  if (!needsFitness(siteUpgrade)) {
    const first = await listOnline(tx, scope, siteUpgrade, { after: -1, limit: count })
    return first.map(({ deviceId }) => deviceId)
  }
  const keepsHigher = new Map([[siteUpgrade.id, siteUpgrade.plan.keeps_higher ?? []]])
  const fit: string[] = []
  let after = -1
  for (;;) {
    const online = await listOnline(tx, scope, siteUpgrade, { after, limit: EXAMINED })
    const unfit = await listUnfit(tx, scope, online, keepsHigher)
    fit.push(...online.map(({ deviceId }) => deviceId).filter((deviceId) => !unfit.has(deviceId)))
    const last = online.at(-1)
    if (fit.length >= count || last === undefined || online.length < EXAMINED) return fit.slice(0, count)
    after = last.ordinal
  }
}

/** Lists connected devices of later phases, without those that run the version by now, which would try out nothing. */
async function listOnline(
  tx: Tx,
  { orgId }: InOrg,
  { id, currentPhase }: Pick<LockedSiteUpgrade, 'id' | 'currentPhase'>,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<(Installing & { readonly ordinal: number })[]> {
  const { rows } = await sql<Installing & { readonly ordinal: number }>`
    select target.upgrade_id, target.device_id, target.image_id, target.target_version, target.ordinal
    from upgrade_target target
    join device_session session on session.device_id = target.device_id and session.connected
    join device_status status on status.org_id = target.org_id and status.device_id = target.device_id
    where target.org_id = ${orgId} and target.upgrade_id = ${id} and target.phase > ${currentPhase}
      and target.ordinal > ${after} and target.state = 'planned' and target.attempt = 0
      and (target.force or ${versionRun('target', 'status.firmware')} is distinct from target.target_version)
    order by target.ordinal limit ${limit}
  `.execute(tx)
  return rows
}

interface Swap {
  readonly absent: readonly string[]
  readonly online: readonly string[]
}

/** The first of the absent devices in the order of the plan get the places of the others. */
async function swapPlaces(tx: Tx, { orgId }: InOrg, id: string, { absent, online }: Swap): Promise<Replaced[]> {
  const { rows } = await sql<Replaced>`
    with absent as (
      select device_id, mac, phase, ordinal, row_number() over (order by ordinal) as place from upgrade_target
      where org_id = ${orgId} and upgrade_id = ${id} and device_id = ${anyOf(absent)}
    ), online as (
      select device_id, mac, phase, ordinal, row_number() over (order by ordinal) as place from upgrade_target
      where org_id = ${orgId} and upgrade_id = ${id} and device_id = ${anyOf(online)}
    ), changed as (
      select absent.device_id, online.phase, online.ordinal from absent join online using (place)
      union all
      select online.device_id, absent.phase, absent.ordinal from absent join online using (place)
    ), updated as (
      update upgrade_target target set phase = changed.phase, ordinal = changed.ordinal from changed
      where target.org_id = ${orgId} and target.upgrade_id = ${id} and target.device_id = changed.device_id
    )
    select absent.mac as absent, online.mac as online from absent join online using (place) order by place
  `.execute(tx)
  return rows
}
