import { type KyselyPlugin, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { applyConnections, recordConnects } from '../../../src/devices/sessions/record-connect.ts'
import type { SessionOpening } from '../../../src/devices/sessions/store.ts'
import type { Context } from '../../../src/platform/context.ts'
import { inTxByKeys } from '../../../src/platform/database/db.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import {
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  deviceFacts,
  makeDevices,
} from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { noCapabilities } from '../../../src/devices/commands/capabilities.ts'
import { uuidv7 } from '../../../src/platform/uuidv7.ts'
import { waitUntil } from '../../support/wait-until.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const NODE = uuidv7()

function openingOf(mac: string, firmware: string): SessionOpening {
  return { mac, family: 'ucentral', facts: deviceFacts({ firmware, capabilities: noCapabilities }) }
}

/** Connects devices as the gateway does: those that another transaction has locked are tried again. */
async function connect(ctx: Context, openings: readonly SessionOpening[]): Promise<void> {
  let left = openings
  let isRepeated = false
  await waitUntil('rows that nobody has locked', async () => {
    const { lockedIds } = await recordConnects(ctx, NODE, left, isRepeated)
    left = left.filter(({ mac }) => lockedIds.has(deviceIdOf(mac)))
    isRepeated = true
    return left.length === 0
  })
}

/** A context whose transactions do `work` once, after they have read the statuses of devices. */
function afterStatuses(work: () => Promise<unknown>): Context {
  let isDone = false
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const [row] = result.rows
      if (isDone || row === undefined || !('writtenBy' in row || 'written_by' in row)) return result
      isDone = true
      await work()
      return result
    },
  }
  return { ...server.ctx, keyDb: server.ctx.keyDb.withPlugin(plugin) }
}

interface Known {
  readonly mac: string
  readonly connected: boolean
  readonly isNewest: boolean
  readonly bootCount: number
  readonly firmware: string
  readonly events: readonly string[]
}

async function statusesOf(macs: readonly string[]): Promise<Known[]> {
  const { rows } = await sql<Known>`
    select device.mac, status.connected, status.epoch = session.epoch as is_newest, status.boot_count, status.firmware,
      array(select type from device_event event where event.device_id = device.id and type in ('AP_CONNECTED', 'AP_RESTARTED')
        order by type) as events
    from device
    join device_status status on status.device_id = device.id
    join device_session session on session.device_id = device.id
    where device.mac = any(${macs}) order by device.mac`.execute(server.ctx.db)
  return rows
}

test('a status that changes between the look at it and its update is read again, and nothing is lost', async () => {
  const macs = (await claimNewDevices(server, 3)).map(({ mac }) => mac).toSorted()
  for (const mac of macs) await connectDevice(server.ctx, mac, { firmware: '1.0' })
  const [first = '', second = '', third = ''] = macs
  const ctx = afterStatuses(async () => {
    await sql`update device_status set boot_count = boot_count + 5 where device_id = ${deviceIdOf(second)}`.execute(
      server.ctx.db,
    )
    await sql`delete from device where id = ${deviceIdOf(third)}`.execute(server.ctx.db)
  })
  await connect(
    ctx,
    macs.map((mac) => openingOf(mac, '2.0')),
  )
  const expected = { connected: true, isNewest: true, firmware: '2.0', events: ['AP_CONNECTED', 'AP_RESTARTED'] }
  expect(await statusesOf(macs)).toEqual([
    { mac: first, ...expected, bootCount: 1 },
    { mac: second, ...expected, bootCount: 6 },
  ])
})

test('a status that another transaction is changing when it is updated is read again', async () => {
  const device = await claimNewDevice(server)
  const mac = device.mac
  await connectDevice(server.ctx, mac, { firmware: '1.0' })
  let change: Promise<void> | undefined
  const ctx = afterStatuses(async () => {
    const changing = await openTx(server.ctx, (tx) =>
      sql`update device_status set boot_count = boot_count + 5 where device_id = ${deviceIdOf(mac)}`.execute(tx),
    )
    change = changing.commitAfter(() => untilWaiting(server, 1))
  })
  // The gateway would wait for a short time only.
  const { facts } = openingOf(mac, '2.0')
  const connection = { deviceId: deviceIdOf(mac), epoch: '2', connectedAt: ctx.clock.now(), connectedMs: 1, facts }
  await inTxByKeys(ctx, (tx) => applyConnections(tx, [connection], connection.connectedAt))
  await change
  expect(await statusesOf([mac])).toMatchObject([{ connected: true, bootCount: 6, firmware: '2.0' }])
})

test('two connections of each device at once leave the newest one, and each event once', async () => {
  const macs = (await claimNewDevices(server, 20)).map(({ mac }) => mac).toSorted()
  const openings = macs.map((mac) => openingOf(mac, '1.0'))
  for (let times = 0; times < 5; times++)
    await Promise.all([connect(server.ctx, openings), connect(server.ctx, openings.toReversed())])
  for (const known of await statusesOf(macs))
    expect(known).toMatchObject({ connected: true, isNewest: true, bootCount: 0, events: ['AP_CONNECTED'] })
})

test('a connection beside the claim of its device is the one that the claimed device has', async () => {
  const devices = await makeDevices(server.ctx, 20)
  const openings = devices.map(({ mac }) => openingOf(mac, '1.0'))
  const body = devices.map(({ claim_code: code }) => code)
  const claim = server.call('POST', `/orgs/${server.org.orgId}/inventory`, { body })
  await Promise.all([claim, ...openings.map((opening) => connect(server.ctx, [opening]))])
  expect((await claim).status).toBe(200)
  const known = await statusesOf(devices.map(({ mac }) => mac))
  expect(known).toHaveLength(devices.length)
  for (const status of known)
    expect(status).toMatchObject({ connected: true, isNewest: true, events: ['AP_CONNECTED'] })
})
