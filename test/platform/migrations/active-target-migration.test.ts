import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, UPGRADE, SITE_UPGRADE, IMAGE] = [id(1), id(2), id(3), id(4)]
const inFlight = {
  planned: false,
  deferred: false,
  dl_requested: true,
  downloading: true,
  rebooting: true,
  verifying: true,
}

test('a running upgrade of the previous release has the new columns of its active targets', async () => {
  const { client, connection } = await openFormerDatabase('0034', ORG)
  await client.query(
    `insert into org_upgrade (org_id, id, request, strategy, target_version, force, enable_p2p, planned, created_at)
     values ($1, $2, '{}', 'big_bang', '2', false, false, 0, now())`,
    [ORG, UPGRADE],
  )
  await client.query(
    `insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total, created_at)
     values ($1, $3, $2, gen_random_uuid(), 'upgrading', now(), now(), '{}', '{}', 6, now())`,
    [ORG, UPGRADE, SITE_UPGRADE],
  )
  await client.query(
    `with registered as (
       insert into device_registry (id, mac, serial, model, type, claim_code, org_id, created_at)
       select gen_random_uuid(), lpad(n::text, 12, '0'), n, 'm', 'ap', 'CODE' || n, $1, now() from generate_series(1, 6) n
       returning *
     ) insert into device (org_id, id, mac, serial, model, type, claim_code, created_at, modified_at)
     select org_id, id, mac, serial, model, type, claim_code, now(), now() from registered`,
    [ORG],
  )
  await client.query(
    `with target as (
       insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, target_version,
         force, state, entered_at)
       select $1, $2, device.id, device.mac, '', 1, 1, $3, '2', false, state, now()
       from unnest($4::text[]) with ordinality as wanted (state, n) join device on device.mac = lpad(n::text, 12, '0')
       returning org_id, device_id, upgrade_id
     ) insert into active_upgrade_target (org_id, device_id, upgrade_id) select * from target`,
    [ORG, SITE_UPGRADE, IMAGE, Object.keys(inFlight)],
  )
  await migrate(connection)
  const { rows } = await client.query<Record<string, unknown>>(
    `select state, org_upgrade_id, active.image_id, in_flight
     from device_upgrade active join upgrade_target target using (org_id, upgrade_id, device_id)`,
  )
  expect(rows).toHaveLength(6)
  for (const [state, expected] of Object.entries(inFlight))
    expect(rows).toContainEqual({ state, org_upgrade_id: UPGRADE, image_id: IMAGE, in_flight: expected })
})
