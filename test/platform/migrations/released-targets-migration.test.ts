import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, UPGRADE, SITE_UPGRADE, OTHER, EDGE_UPGRADE, IMAGE] = [id(1), id(2), id(3), id(4), id(5), id(6)]

test('upgrades of the previous release know how many of their cancelled targets no stop has ended', async () => {
  const { client, connection } = await openFormerDatabase('0482', ORG)
  await client.query(
    `insert into org_upgrade (org_id, id, request, strategy, target_version, force, enable_p2p, planned, notes, pending_by_phase, created_at)
     values ($1, $2, '{}', 'big_bang', '2', false, false, 0, '[]', '{}', now())`,
    [ORG, UPGRADE],
  )
  for (const [part, cancelled] of [
    [SITE_UPGRADE, 5],
    [OTHER, 0],
  ] as const)
    await client.query(
      `insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total, notes, created_at)
       values ($1, $3, $2, gen_random_uuid(), 'upgrading', now(), now(), '{}', $4, 6, '[]', now())`,
      [ORG, UPGRADE, part, JSON.stringify({ cancelled })],
    )
  await client.query(
    `insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, target_version, force, state,
       entered_at, reason)
     select $1, $2, gen_random_uuid(), n::text, '', 1, n, $3, '2', false, case when n < 6 then 'cancelled' else 'failed' end, now(), reason
     from unnest($4::text[]) with ordinality as wanted (reason, n)`,
    [
      ORG,
      SITE_UPGRADE,
      IMAGE,
      [`taken over by upgrade ${OTHER}`, 'removed', 'not_rebooted', null, 'stopped on its way, at 1', 'removed'],
    ],
  )
  await client.query(
    `insert into mxedge_upgrade (org_id, id, request, plan, status, counts, notes, start_at, created_at)
     values ($1, $2, '{}', '{}', 'upgrading', '{"cancelled": 4}', '[]', now(), now())`,
    [ORG, EDGE_UPGRADE],
  )
  await client.query(
    `insert into mxedge_upgrade_target (org_id, upgrade_id, mxedge_id, name, registration_epoch, phase, wave, ordinal, steps, state,
       entered_ms, reason)
     select $1, $2, gen_random_uuid(), '', 1, 1, 1, n, '[]', 'cancelled', 0, reason
     from unnest($3::text[]) with ordinality as wanted (reason, n)`,
    [
      ORG,
      EDGE_UPGRADE,
      [`taken over by upgrade ${OTHER}`, 'removed', 'replaced', 'left the site', 'after 1 of 2 steps', null],
    ],
  )
  await migrate(connection)
  const { rows } = await client.query<{ id: string; released: number }>(
    `select id, released from site_upgrade union all select id, released from mxedge_upgrade order by id`,
  )
  expect(rows).toEqual([
    { id: SITE_UPGRADE, released: 3 },
    { id: OTHER, released: 0 },
    { id: EDGE_UPGRADE, released: 4 },
  ])
})
