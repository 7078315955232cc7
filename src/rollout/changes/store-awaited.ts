import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import type { UpgradeNote } from '../rollout.ts'

/** The condition that a note says that the plan left a device out because another upgrade had it. */
const isOfOther = sql<boolean>`note->>'kind' = ${'in_another_upgrade' satisfies UpgradeNote['kind']}`

/**
 * True if another upgrade had devices of these sites when the upgrade was planned, and the upgrade has not looked at them since
 * that one has ended with them. @param open Its site upgrades that accept further devices.
 */
export async function isAwaitingDevices(
  reader: Reader,
  { orgId }: InOrg,
  open: readonly { readonly id: string; readonly siteId: string }[],
): Promise<boolean> {
  if (open.length === 0) return false
  const { rows } = await sql`
    select from site_upgrade part
    cross join lateral jsonb_array_elements(part.notes) as note
    join device on device.org_id = part.org_id and device.mac = note->>'mac'
    where part.org_id = ${orgId} and part.id = ${anyOf(open.map(({ id }) => id))} and ${isOfOther}
      and device.site_id = ${anyOf(open.map(({ siteId }) => siteId))}
    limit 1
  `.execute(reader)
  return rows.length > 0
}

/**
 * Deletes the notes about devices that other upgrades had and that none has any more: the upgrade has looked at them, and awaits
 * them no longer. The caller has locked the organization upgrade.
 */
export async function deleteAwaited(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  deviceIds: readonly string[],
): Promise<void> {
  if (deviceIds.length === 0) return
  const { orgId } = scope
  const { rows } = await sql<{ readonly id: string }>`
    with looked as (
      select device.mac from device
      where device.org_id = ${orgId} and device.id = ${anyOf(deviceIds)}
        and not exists (select from device_upgrade active
          where active.org_id = device.org_id and active.device_id = device.id and active.upgrade_id is not null)
    )
    update site_upgrade part set notes = (
      select coalesce(jsonb_agg(note order by place), '[]')
      from jsonb_array_elements(part.notes) with ordinality as noted (note, place)
      where (${isOfOther} and note->>'mac' in (select mac from looked)) is not true)
    where part.org_id = ${orgId} and part.org_upgrade_id = ${orgUpgradeId}
      and exists (select from jsonb_array_elements(part.notes) as note
        where ${isOfOther} and note->>'mac' in (select mac from looked))
    returning part.id
  `.execute(tx)
  noteUpgrades(
    tx,
    scope,
    rows.map(({ id }) => ({ orgUpgradeId, id })),
  )
}
