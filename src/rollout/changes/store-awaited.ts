import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import type { UpgradeNote } from '../rollout.ts'

/** The condition that a note says that the plan left a device out because another upgrade had it. */
export const isOfOther = sql<boolean>`note->>'kind' = ${'in_another_upgrade' satisfies UpgradeNote['kind']}`

/**
 * The devices at the sites of an upgrade that another one had when this one was planned, and for which this one has not searched
 * since that one has ended with them: those that the notes of `site_upgrade` name, without those that fail to join. Most are still
 * at its site. Others are at another site of the upgrade, or at one that was created after it and that it covers too.
 */
const awaited = sql`
  select from org_upgrade
  cross join lateral jsonb_array_elements(site_upgrade.notes) as note
  join device on device.org_id = site_upgrade.org_id and device.mac = note->>'mac'
  where org_upgrade.org_id = site_upgrade.org_id and org_upgrade.id = site_upgrade.org_upgrade_id
    and org_upgrade.include_due_ms is not null and org_upgrade.stopping is null
    and site_upgrade.stopping is null and not site_upgrade.closed and ${isOfOther}
    and not exists (select from upgrade_joining_failure failure where failure.org_id = site_upgrade.org_id
      and failure.upgrade_id = site_upgrade.id and failure.device_id = device.id)
    and (device.site_id = site_upgrade.site_id or coalesce((
      select place.stopping is null and not place.closed from site_upgrade place where place.org_id = device.org_id
        and place.site_id = device.site_id and place.org_upgrade_id = site_upgrade.org_upgrade_id limit 1),
      device.site_id is not null and org_upgrade.joining->>'laterSites' is not null))`

/** The number of devices that `site_upgrade` awaits. */
export const awaitedCount: RawBuilder<number> = sql`(select count(*)::integer from (${awaited}) awaited)`

/** True if an upgrade awaits devices of others. */
export async function isAwaitingDevices(reader: Reader, { orgId }: InOrg, orgUpgradeId: string): Promise<boolean> {
  const { rows } = await sql`
    select from site_upgrade where org_id = ${orgId} and org_upgrade_id = ${orgUpgradeId} and exists (${awaited}) limit 1
  `.execute(reader)
  return rows.length > 0
}

/**
 * Deletes the notes about devices that other upgrades had and that none has any more: the search of the upgrade has read them,
 * and it awaits them no longer. The caller has locked the organization upgrade.
 * @returns The ids of the site upgrades that awaited them, by their MACs.
 */
export async function deleteAwaited(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (deviceIds.length === 0) return new Map()
  const { orgId } = scope
  const { rows } = await sql<{ readonly id: string; readonly mac: string }>`
    with looked as (
      select device.mac from device
      where device.org_id = ${orgId} and device.id = ${anyOf(deviceIds)}
        and not exists (select from device_upgrade active
          where active.org_id = device.org_id and active.device_id = device.id and active.upgrade_id is not null)
    ), noted as (
      select part.id, note->>'mac' as mac from site_upgrade part, jsonb_array_elements(part.notes) as note
      where part.org_id = ${orgId} and part.org_upgrade_id = ${orgUpgradeId} and part.stopping is null and not part.closed
        and ${isOfOther} and note->>'mac' in (select mac from looked)
    ), unnoted as (update site_upgrade part set notes = (
      select coalesce(jsonb_agg(note order by place), '[]')
      from jsonb_array_elements(part.notes) with ordinality as noted (note, place)
      where (${isOfOther} and note->>'mac' in (select mac from looked)) is not true)
    where part.org_id = ${orgId} and part.id in (select id from noted))
    select id, mac from noted
  `.execute(tx)
  noteUpgrades(
    tx,
    scope,
    rows.map(({ id }) => ({ orgUpgradeId, id })),
  )
  return new Map(rows.map(({ id, mac }) => [mac, id]))
}
