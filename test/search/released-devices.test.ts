import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import type { Db } from '../../src/platform/database/db.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { claimNewDevice, connectDevice } from '../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

interface Change {
  readonly name: string
  readonly run: (db: Db, id: string) => Promise<unknown>
}

const disconnect: Change = {
  name: 'disconnects',
  run: (db, id) =>
    sql`update device_status set connected = false, disconnected_at = now() where device_id = ${id}`.execute(db),
}
const connect: Change = {
  name: 'connects',
  run: (db, id) =>
    sql`update device_status set connected = true, booted_at = now(), firmware = '2.0' where device_id = ${id}`.execute(
      db,
    ),
}
const release: Change = {
  name: 'is released',
  run: (db, id) => sql`delete from device where id = ${id}`.execute(db),
}

/** Runs `second` while a transaction has done `first`, and commits this one when `second` waits for it. */
async function overlap(id: string, first: Change, second: Change): Promise<void> {
  const { db } = server.ctx
  const both = await db.transaction().execute(async (tx) => {
    await first.run(tx, id)
    const later = second.run(db, id)
    await untilWaiting(server, 1)
    return { later }
  })
  await both.later
}

test.each([
  { isConnected: true, first: disconnect, second: release },
  { isConnected: true, first: release, second: disconnect },
  { isConnected: false, first: connect, second: release },
  { isConnected: false, first: release, second: connect },
])(
  'nothing is left of a device that $first.name while it $second.name, and the counters know it',
  async ({ isConnected, first, second }) => {
    const { db } = server.ctx
    const device = await claimNewDevice(server)
    const mac = device.mac
    const id = deviceIdOf(mac)
    await connectDevice(server.ctx, mac, { firmware: '1.0' })
    if (!isConnected) await disconnect.run(db, id)
    await overlap(id, first, second)
    for (const table of ['device_disconnection', 'device_version', 'device_status'])
      expect((await sql`select from ${sql.table(table)} where device_id = ${id}`.execute(db)).rows, table).toEqual([])
    const { rows } = await sql`select field, value, sum(count) from (
        select * from device_value_count union all select * from device_value_delta) as known
      where field in ('status', 'version') group by 1, 2 having sum(count) <> 0`.execute(db)
    expect(rows).toEqual([])
  },
)
