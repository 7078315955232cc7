import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { insertFormerDevice, openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, DEVICE, NODE, SITE_UPGRADE, ORG_UPGRADE, IMAGE, LATER] = [1, 2, 3, 4, 5, 6, 7].map(id)
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 2, 3, 4, second))

test('sessions, statuses and the progress of upgrades of the previous release keep what their columns have', async () => {
  const { client, connection } = await openFormerDatabase('0401', String(ORG))
  await insertFormerDevice(client, String(ORG), String(DEVICE))
  const session = {
    ...{ device_id: DEVICE, node_id: NODE, family: 'ucentral', org_id: ORG, certificate_expires_at: at(1) },
    ...{ epoch: '7', connected_at: at(2), connected_ms: 3.5, firmware: '1.0', reason: 'boot', boot_id: 'a' },
    ...{ lost_at: at(4), disconnected_ms: 5.5, connected: true, facts: { model: 'm' } },
  }
  const names = Object.keys(session)
  await client.query(
    `insert into device_session (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(session),
  )
  const upgrade = {
    ...{
      org_id: ORG,
      device_id: DEVICE,
      shown_at: at(6),
      status_id: 7,
      progress: 8,
      will_retry: true,
      in_flight: true,
    },
    ...{ status: 'inprogress', upgrade_id: SITE_UPGRADE, org_upgrade_id: ORG_UPGRADE, image_id: IMAGE },
    later_images: [LATER],
  }
  const { org_id: orgId, device_id: deviceId, later_images: later, ...changed } = upgrade
  const sets = Object.keys(changed).map((name, index) => `${name} = $${index + 4}`)
  await client.query(
    `update device_upgrade set later_images = $3, ${sets.join(', ')} where org_id = $1 and device_id = $2`,
    [orgId, deviceId, JSON.stringify(later), ...Object.values(changed)],
  )
  const status = {
    ...{ org_id: ORG, device_id: DEVICE, disconnected_at: at(9), connected: false, epoch: '10', connected_at: at(11) },
    ...{ connected_ms: 12.5, firmware: '1.0', boot_id: 'b', boot_count: 13, booted_at: at(14), boot_known_ms: 15.5 },
    ...{ last_seen_at: at(16), load: { ip: '192.0.2.1' }, ext_ip: '192.0.2.2' },
    ...{ members: [{ member: 0 }, { member: 1 }], capabilities: { commands: [] } },
  }
  const known = Object.keys(status)
  await client.query(
    `insert into device_status (${known.join(', ')}) values (${known.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(status).map((value) => (Array.isArray(value) ? JSON.stringify(value) : value)),
  )
  await client.query(`insert into device_outage (org_id, device_id, down_at, due_at) values ($1, $2, now(), now())`, [
    ORG,
    DEVICE,
  ])
  await migrate(connection)
  expect((await client.query(`select * from device_session`)).rows).toMatchObject([session])
  expect((await client.query(`select * from device_upgrade`)).rows).toMatchObject([upgrade])
  expect((await client.query(`select * from device_status`)).rows).toMatchObject([status])
  // The copies of the status still follow it.
  await client.query(`update device_status set connected = true, firmware = '2.0', ext_ip = '192.0.2.3'`)
  expect((await client.query(`select from device_disconnection`)).rowCount).toBe(0)
  expect((await client.query(`select firmware from device_version`)).rows).toEqual([{ firmware: '2.0' }])
  expect((await client.query(`select ip, ext_ip from device_fact`)).rows).toEqual([
    { ip: '192.0.2.1', ext_ip: '192.0.2.3' },
  ])
  // A session refers to a registered device, and the progress of an upgrade belongs to its device.
  await expect(client.query(`delete from device_registry`)).rejects.toThrow('foreign key')
  await client.query(`delete from device`)
  for (const table of ['device_upgrade', 'device_status', 'device_outage'])
    expect((await client.query(`select from ${table}`)).rowCount, table).toBe(0)
})
