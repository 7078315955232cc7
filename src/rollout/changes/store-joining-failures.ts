import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import { MAX_NAMED } from '../events/present-named.ts'
import type { UpgradeNote } from '../rollout.ts'
import { isOfOther } from './store-awaited.ts'

/** The result of a search among the devices behind `after`, up to `last`. */
export interface LookedAt {
  /** Null: from the first device on. */
  readonly after: string | null
  /** Null: up to the last device. */
  readonly last: string | null
  /** The one of them that could not join. */
  readonly failed: { readonly deviceId: string; readonly reason: string } | null
}

/**
 * Records why a device could not join: where the upgrade awaited it, and otherwise at the upgrade of its site. Deletes what was
 * recorded about the others among them: they have joined, left, or need nothing any more. The caller has locked the organization
 * upgrade.
 */
export async function replaceJoiningFailures(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  { after, last, failed }: LookedAt,
): Promise<void> {
  const { orgId } = scope
  const { rows } = await sql<{ readonly id: string }>`
    with failing as (
      select part.org_id, part.id as upgrade_id, device.id as device_id, device.mac from device
      join site_upgrade part on part.org_id = device.org_id and part.org_upgrade_id = ${orgUpgradeId}
      cross join lateral (select part.stopping is null and not part.closed and exists (
        select from jsonb_array_elements(part.notes) note where ${isOfOther} and note->>'mac' = device.mac) as awaits) known
      where device.org_id = ${orgId} and device.id = ${failed?.deviceId ?? null}::uuid
        and (part.site_id = device.site_id or awaits)
      order by awaits desc limit 1
    ), gone as (
      delete from upgrade_joining_failure failure using site_upgrade part
      where part.org_id = ${orgId} and part.org_upgrade_id = ${orgUpgradeId}
        and failure.org_id = part.org_id and failure.upgrade_id = part.id
        and (${after}::uuid is null or failure.device_id > ${after}::uuid)
        and (${last}::uuid is null or failure.device_id <= ${last}::uuid)
        and not exists (select from failing
          where failing.upgrade_id = failure.upgrade_id and failing.device_id = failure.device_id)
      returning failure.upgrade_id
    ), changed as (
      insert into upgrade_joining_failure as failure (org_id, upgrade_id, device_id, mac, reason)
      select org_id, upgrade_id, device_id, mac, ${failed?.reason ?? null}::text from failing
      on conflict (org_id, upgrade_id, device_id) do update set reason = excluded.reason
      where failure.reason <> excluded.reason
      returning failure.upgrade_id
    )
    select upgrade_id as id from gone union select upgrade_id from changed
  `.execute(tx)
  noteUpgrades(
    tx,
    scope,
    rows.map(({ id }) => ({ orgUpgradeId, id })),
  )
}

/** The condition that a record names a failure; `place` is its place among those of the upgrade, from 1. */
export const isNamed: RawBuilder<boolean> = sql`place <= ${sql.lit(MAX_NAMED)}`

/** The note that counts the failures of a group that the record does not name; none if it names all. @param one What fails. */
export function noteOfOthers(one: string): RawBuilder<readonly UpgradeNote[]> {
  const max = sql.lit(MAX_NAMED)
  return sql`case when count(*) > ${max} then jsonb_build_array(jsonb_build_object('reason', case count(*) - ${max}
    when 1 then ${`1 further ${one}`} else count(*) - ${max} || ${` further ${one}s`} end || ' could not be taken in')) else '[]' end`
}

/**
 * The notes of `site_upgrade`, followed by the devices that could not join. These take the place of earlier notes about the same
 * devices, which the upgrade keeps: they hold again once the failure is over.
 */
export const siteUpgradeNotes: RawBuilder<readonly UpgradeNote[]> = sql`(
  select case when macs is null then site_upgrade.notes else (
    select coalesce(jsonb_agg(note order by place), '[]')
    from jsonb_array_elements(site_upgrade.notes) with ordinality as noted (note, place)
    where (note->>'mac' = any(macs)) is not true) end || failures
  from (
    select array_agg(mac) as macs, ${noteOfOthers('device')}
      || coalesce(jsonb_agg(jsonb_build_object('mac', mac, 'reason', reason) order by place) filter (where ${isNamed}), '[]') as failures
    from (
      select mac, reason, row_number() over (order by device_id) as place from upgrade_joining_failure failure
      where failure.org_id = site_upgrade.org_id and failure.upgrade_id = site_upgrade.id) failed) failed)`
