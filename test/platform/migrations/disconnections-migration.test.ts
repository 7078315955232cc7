import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const id = (last: number): string => `00000000-0000-0000-0000-00000000000${last}`
const [ORG, NEW, UP, DOWN] = [id(1), id(2), id(3), id(4)]
const [bootedAt, disconnectedAt] = [new Date('2026-01-02T03:04:05.678Z'), new Date('2026-01-03T03:04:05.678Z')]

test('devices of the previous release keep their connections, boots and versions, and their numbers', async () => {
  const { client, connection } = await openFormerDatabase('0400', ORG)
  await client.query(
    `with registered as (
       insert into device_registry (id, mac, serial, model, type, claim_code, org_id, created_at)
       select id, right(id::text, 12), id, 'm', 'ap', id, $1, now() from unnest($2::uuid[]) as given (id) returning *
     ) insert into device (org_id, id, mac, serial, model, type, claim_code, created_at, modified_at, doc)
     select org_id, id, mac, serial, model, type, claim_code, now(), now(), '{}' from registered`,
    [ORG, [NEW, UP, DOWN]],
  )
  await client.query(
    `insert into device_status (org_id, device_id, connected, booted_at, disconnected_at, firmware)
     values ($1, $2, true, $4, null, '1.0'), ($1, $3, false, $4, $5, '1.1')`,
    [ORG, UP, DOWN, bootedAt, disconnectedAt],
  )
  const countsOf = async () =>
    (
      await client.query(`select field, value, sum(count)::integer as count from device_value_delta
        group by 1, 2 having sum(count) <> 0 order by 1, 2`)
    ).rows
  const counted = await countsOf()
  await migrate(connection)
  const found = await client.query(`select * from device_disconnection order by device_id`)
  expect(found.rows).toEqual([
    { org_id: ORG, device_id: NEW, disconnected_at: null, type: 'ap' },
    { org_id: ORG, device_id: DOWN, disconnected_at: disconnectedAt, type: 'ap' },
  ])
  const versions = await client.query(
    `select device_id, booted_at, firmware, type from device_version order by device_id`,
  )
  expect(versions.rows).toEqual([
    { device_id: UP, booted_at: bootedAt, firmware: '1.0', type: 'ap' },
    { device_id: DOWN, booted_at: bootedAt, firmware: '1.1', type: 'ap' },
  ])
  expect(await countsOf()).toEqual(counted)
  await client.query(`delete from device`)
  expect(await countsOf()).toEqual([])
  expect((await client.query(`select from device_disconnection`)).rowCount).toBe(0)
})
