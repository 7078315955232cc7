import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { insertFormerDevice, openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, DEVICE, SITE_UPGRADE] = [id(1), id(2), id(3)]

test('commands of the previous release are found in the state that they have', async () => {
  const { client, connection } = await openFormerDatabase('0285', ORG)
  await insertFormerDevice(client, ORG, DEVICE)
  const insert = async (kind: string, state: string, attempt: number, siteUpgradeId: string | null): Promise<void> => {
    await client.query(
      `insert into device_command (org_id, id, device_id, site_upgrade_id, kind, attempt, params, state, created_at)
       values ($1, gen_random_uuid(), $2, $3, $4, $5, '{}', $6, now())`,
      [ORG, DEVICE, siteUpgradeId, kind, attempt, state],
    )
  }
  for (const [attempt, state] of ['queued', 'sent', 'done', 'unknown'].entries()) {
    await insert('restart', state, attempt, null)
    await insert('upgrade', state, attempt, SITE_UPGRADE)
    await insert('restore_backup', state, attempt, SITE_UPGRADE)
  }
  await migrate(connection)
  const { rows } = await client.query<Record<string, unknown>>(
    `select kind, state, pending, unsettled from device_command order by kind, attempt`,
  )
  const found = rows.map(({ kind, state, pending, unsettled }) => [kind, state, pending, unsettled].join(' '))
  expect(found).toEqual([
    'restart queued queued ',
    'restart sent sent ',
    'restart done  ',
    'restart unknown  ',
    'restore_backup queued queued ',
    'restore_backup sent  ',
    'restore_backup done  true',
    'restore_backup unknown  true',
    'upgrade queued queued ',
    'upgrade sent  ',
    'upgrade done  ',
    'upgrade unknown  ',
  ])
})
