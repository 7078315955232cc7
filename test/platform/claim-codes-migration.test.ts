import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate, migrationsDir } from '../../src/platform/migrate.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const DEVICE = '00000000-0000-0000-1000-020000000001'
const EDGE = '00000000-0000-0000-1000-020000000002'

test('the codes of a former release lose their dashes', async () => {
  const database = await createEmptyDatabase()
  const { connection } = database
  onTestFinished(() => database.drop())
  const folder = await temporaryDir()
  await cp(migrationsDir, folder, { recursive: true })
  for (const name of await readdir(folder)) if (name >= '0038') await rm(join(folder, name))
  await migrate(connection, folder)
  const client = new pg.Client(connection)
  await client.connect()
  onTestFinished(() => client.end())
  const row = `'S1', 'AP45', 'Abcde-FGHJK-mnpqr', $2, now()`
  await client.query(
    `insert into org (id, name, doc, created_at, modified_at) values ($1, 'Test', '{}', now(), now())`,
    [ORG],
  )
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
