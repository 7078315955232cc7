import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { insertFormerDevice, openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, DEVICE, UPGRADING, RESTORING, WAITING, SITE_UPGRADE, SITE, IMAGE] = [1, 2, 3, 4, 5, 6, 7, 8].map(id)
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 2, 3, 4, second))

const sent = { epoch: '7', call_id: 8, sent_at: at(3), sent_ms: 9.5, progress: { step: 'reboot' }, progress_ms: 10.5 }
const ended = { ...sent, state: 'done', outcome: { text: 'x' }, finished_at: at(4) }
const never = { epoch: null, call_id: null, sent_at: null, sent_ms: null, progress: null, progress_ms: null }
const base = { org_id: ORG, device_id: DEVICE, created_at: at(1) }
const rows = [
  {
    ...{ ...base, id: UPGRADING, site_upgrade_id: SITE_UPGRADE, site_id: SITE, kind: 'upgrade', attempt: 2 },
    ...{ params: { image_id: IMAGE, version: '2.0' }, expires_at: null, settled_at: null, ...ended },
  },
  {
    ...{ ...base, id: RESTORING, site_upgrade_id: null, site_id: SITE, kind: 'restore_backup', attempt: 1 },
    ...{ params: { version: '1.0' }, expires_at: at(2), settled_at: at(5), ...ended },
  },
  {
    ...{ ...base, id: WAITING, site_upgrade_id: null, site_id: null, kind: 'support', attempt: 1, params: {} },
    ...{ expires_at: at(2), settled_at: null, ...never, state: 'queued', outcome: null, finished_at: null },
  },
]

test('commands of the previous release keep what their columns have, and those with an image its columns', async () => {
  const { client, connection } = await openFormerDatabase('0390', String(ORG))
  await insertFormerDevice(client, String(ORG), String(DEVICE))
  for (const row of rows) {
    const values = Object.values(row)
    const places = values.map((_, index) => `$${index + 1}`).join(', ')
    await client.query(`insert into device_command (${Object.keys(row).join(', ')}) values (${places})`, values)
  }
  await client.query(`insert into support_file (org_id, id, name, bytes, created_at) values ($1, $2, 'x', 1, now())`, [
    ORG,
    WAITING,
  ])
  await migrate(connection)
  const found = await client.query<Record<string, unknown>>(`select * from device_command order by id`)
  const [upgrading, restoring, waiting] = rows
  const others = { image_id: null, version: null, pending: null, unsettled: null }
  expect(found.rows).toEqual([
    { ...others, ...upgrading, params: null, image_id: IMAGE, version: '2.0' },
    { ...others, ...restoring },
    { ...others, ...waiting, pending: 'queued' },
  ])
  // A file of support belongs to its command.
  await client.query(`delete from device_command where id = $1`, [WAITING])
  expect((await client.query(`select from support_file`)).rowCount).toBe(0)
  // A command belongs to its device.
  await client.query(`delete from device where id = $1`, [DEVICE])
  expect((await client.query(`select from device_command`)).rowCount).toBe(0)
})
