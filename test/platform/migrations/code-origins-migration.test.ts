import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const SEEN = new Date('2026-01-02T03:04:05Z')

/** The last digits of the MAC, the model, the code, when it was last seen, and the origin that the code gets. */
const devices = [
  ['01', 'AP45', 'ABCDEFGHJKMNPQR', SEEN, 'generated'],
  // A generated code never contains these, which people confuse.
  ['02', 'AP45', 'ABCDEFGHJKMNPQ0', SEEN, 'manifest'],
  ['03', 'AP45', 'ABCDEFGHJKMNPQL', SEEN, 'manifest'],
  ['04', 'AP45', 'SHORT', SEEN, 'manifest'],
  // It has never connected, so a manifest names it, unless it is a router, which may only have registered.
  ['05', 'EX4100-48P', 'BBCDEFGHJKMNPQR', null, 'manifest'],
  ['06', 'SSR120', 'CBCDEFGHJKMNPQR', null, 'generated'],
] as const

test('codes of a former release count as generated unless they can only be those of a manifest', async () => {
  const { client, connection } = await openFormerDatabase('0280', ORG)
  for (const [end, model, code, seen] of devices)
    await client.query(
      `insert into device_registry (id, mac, serial, model, type, claim_code, org_id, created_at, last_seen_at)
       values ($1, $2, $2, $3, 'gateway', $4, $5, now(), $6)`,
      [`00000000-0000-0000-1000-0200000000${end}`, `0200000000${end}`, model, code, ORG, seen],
    )
  await migrate(connection)
  const { rows } = await client.query('select claim_code, code_origin from device_registry order by id')
  expect(rows).toEqual(devices.map(([, , claim_code, , code_origin]) => ({ claim_code, code_origin })))
})
