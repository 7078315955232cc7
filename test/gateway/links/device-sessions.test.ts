import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { recordConnects } from '../../../src/devices/sessions/record-connect.ts'
import { deviceSessions } from '../../../src/gateway/links/device-sessions.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { deviceFacts } from '../../support/fleets/devices.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const facts = deviceFacts()

/** Creates devices in ascending order of MAC, each of which has connected once more than the previous one. */
async function devicesWithDistinctEpochs(count: number): Promise<string[]> {
  const macs = Array.from({ length: count }, newMac).toSorted()
  for (let before = 0; before < count; before += 1)
    for (const mac of macs.slice(before + 1))
      await recordConnects(harness.ctx, randomUUID(), [{ mac, family: 'ucentral', facts }])
  return macs
}

test('devices that connect together, in descending order of MAC, each get their own epoch', async () => {
  const macs = await devicesWithDistinctEpochs(6)
  const sessions = deviceSessions(harness.ctx, randomUUID(), 200)
  const opened = await Promise.all(
    macs.toReversed().map((mac) => sessions.open({ mac, family: 'ucentral', orgId: null }, facts)),
  )
  expect(opened).toEqual(macs.map((_, before) => ({ kind: 'opened', epoch: String(before + 1) })).toReversed())
})

test('a device that connects once more while it is locked replaces its former connection', async () => {
  const mac = newMac()
  const device = { mac, family: 'ucentral', orgId: null }
  await harness.claim(mac)
  const sessions = deviceSessions(harness.ctx, randomUUID(), 200)
  let latter: Promise<unknown> | undefined
  await inTx(harness.ctx, async (tx) => {
    await sql`select from device_registry where id = ${deviceIdOf(mac)} for update`.execute(tx)
    const former = sessions.open(device, facts)
    latter = sessions.open(device, facts)
    expect(await former).toEqual({ kind: 'replaced' })
  })
  expect(await latter).toEqual({ kind: 'opened', epoch: '1' })
})

test('a locked device makes its batches wait for it once', async () => {
  const mac = newMac()
  await harness.claim(mac)
  const { ctx } = harness
  let [begun, failed] = [0, 0]
  const { keyDb } = ctx
  const counting = {
    transaction: () => ({
      async execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
        begun += 1
        try {
          return await keyDb.transaction().execute(work)
        } catch (error) {
          failed += 1
          throw error
        }
      },
    }),
  } as typeof keyDb
  const sessions = deviceSessions({ ...ctx, keyDb: counting }, randomUUID(), 200)
  const device = { mac, family: 'ucentral', orgId: null }
  let opened: Promise<unknown> | undefined
  await inTx(ctx, async (tx) => {
    await sql`select from device_registry where id = ${deviceIdOf(mac)} for update`.execute(tx)
    opened = sessions.open(device, facts)
    await waitUntil('several repetitions', () => begun >= 5)
  })
  expect(await opened).toEqual({ kind: 'opened', epoch: '1' })
  expect(failed).toBe(1)
})
