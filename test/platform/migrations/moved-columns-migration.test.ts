import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { insertFormerDevice, openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, DEVICE, ORG_UPGRADE, SITE_UPGRADE, IMAGE, COMMAND] = [id(1), id(2), id(3), id(4), id(5), id(6)]
const capabilities = { commands: ['upgrade'], restart_nodes: [], restart_members: [] }
const facts = { type: 'ap', model: 'm', ext_ip: '192.0.2.1', members: null, capabilities }
const at = '2026-01-02T03:04:05.678Z'

test('sessions, statuses and targets of the previous release keep what their columns have', async () => {
  const { client, connection } = await openFormerDatabase('0286', ORG)
  await insertFormerDevice(client, ORG, DEVICE)
  await client.query(
    `insert into device_session (device_id, node_id, family, epoch, connected, connected_at, facts)
     values ($1, $1, 'ucentral', 1, true, now(), $2)`,
    [DEVICE, { ...facts, firmware: '1.0', reason: 'boot', boot_id: 'a' }],
  )
  await client.query(
    `insert into device_status (org_id, device_id, capabilities, members, ext_ip, connected_ms, firmware)
     values ($1, $2, $3, '[{"member": 0}, {"member": 1}]', '192.0.2.1', 7, '1.0')`,
    [ORG, DEVICE, capabilities],
  )
  await client.query(
    `insert into org_upgrade (org_id, id, request, strategy, target_version, force, enable_p2p, planned, created_at)
     values ($1, $2, '{}', 'big_bang', '2', false, false, 0, now())`,
    [ORG, ORG_UPGRADE],
  )
  await client.query(
    `insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total, created_at)
     values ($1, $3, $2, gen_random_uuid(), 'upgrading', now(), now(), '{}', '{}', 1, now())`,
    [ORG, ORG_UPGRADE, SITE_UPGRADE],
  )
  const target = {
    ...{
      attempt: 3,
      failed_attempts: 2,
      lost_attempts: 1,
      run: 2,
      boot_count: 9,
      command_id: COMMAND,
      retry_at_ms: 4.5,
    },
    ...{ staged: true, fetched: true, entered_at: new Date(at), entered_ms: 6.5, state: 'failed', reason: 'health' },
    ...{ down_at: new Date(at), up_at: new Date(at), timeline: 'fabc\n' },
  }
  const names = Object.keys(target)
  await client.query(
    `insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id, target_version, force,
       ${names.join(', ')})
     values ($1, $2, $3, '000000000002', 'm', 1, 1, $4, '2', false, ${names.map((_, index) => `$${index + 5}`).join(', ')})`,
    [ORG, SITE_UPGRADE, DEVICE, IMAGE, ...Object.values(target)],
  )
  await migrate(connection)
  const rowOf = async (query: string): Promise<unknown> => (await client.query<Record<string, unknown>>(query)).rows[0]
  expect(await rowOf(`select firmware, reason, boot_id, facts from device_session`)).toEqual({
    ...{ firmware: '1.0', reason: 'boot', boot_id: 'a' },
    facts,
  })
  expect(await rowOf(`select capabilities, members, ext_ip, connected_ms from device_status`)).toEqual({
    capabilities,
    members: [{ member: 0 }, { member: 1 }],
    ext_ip: '192.0.2.1',
    connected_ms: 7,
  })
  expect(await rowOf(`select ${names.join(', ')} from upgrade_target`)).toEqual(target)
})
