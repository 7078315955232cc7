import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const DEVICE = '00000000-0000-0000-1000-020000000001'
const EDGE = '00000000-0000-0000-1000-020000000002'

test('the codes of a former release lose their dashes', async () => {
  const { client, connection } = await openFormerDatabase('0038', ORG)
  const row = `'S1', 'AP45', 'Abcde-FGHJK-mnpqr', $2, now()`
  for (const [table, id, columns, values] of [
    [
      'device_registry',
      DEVICE,
      'type, mac, serial, model, claim_code, org_id, created_at',
      `'ap', '020000000001', ${row}`,
    ],
    [
      'device',
      DEVICE,
      'type, modified_at, mac, serial, model, claim_code, org_id, created_at',
      `'ap', now(), '020000000001', ${row}`,
    ],
    ['mxedge_registry', EDGE, 'mac, serial, model, claim_code, org_id, created_at', `'020000000002', ${row}`],
    [
      'mxedge',
      EDGE,
      'name, modified_at, serial, model, registration_code, org_id, created_at',
      `'Edge', now(), ${row}`,
    ],
  ] as const)
    await client.query(`insert into ${table} (id, ${columns}) values ($1, ${values})`, [id, ORG])

  await migrate(connection)
  const { rows } = await client.query(
    `select claim_code from device_registry union all select claim_code from device
     union all select claim_code from mxedge_registry union all select registration_code from mxedge`,
  )
  expect(rows).toEqual(Array.from({ length: 4 }, () => ({ claim_code: 'ABCDEFGHJKMNPQR' })))
})
