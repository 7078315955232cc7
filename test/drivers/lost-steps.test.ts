import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { CommandOrder } from '../../src/devices/commands/command.ts'
import { findLostUpgrade } from '../../src/firmware/store-lost-upgrades.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { startDownloads, touchDownloads } from '../../src/firmware/downloads/store-downloads.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from '../gateway/harness.ts'
import { openLinePeer } from './lines/peer.ts'
import { FAMILY, lines } from './lines/protocol.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const imageId = randomUUID()
const stage: CommandOrder = { kind: 'stage', params: { image_id: imageId, version: '2.0.0' } }
const activate: CommandOrder = { kind: 'activate', params: { image_id: imageId, version: '2.0.0' } }

/** A device that loses its connection over the command. @returns The id of the command. */
async function lose(order: CommandOrder): Promise<{ mac: string; id: string }> {
  const gateway = await harness.start({ protocols: [lines] })
  const mac = newMac()
  await harness.claim(mac, 'gateway')
  const peer = await openLinePeer({ port: gateway.portOf(FAMILY), mac })
  peer.hello()
  const id = await harness.queue(mac, order)
  await peer.nextCall()
  peer.drop()
  await harness.untilCommand(id, 'unknown')
  return { mac, id }
}

const find = async (mac: string) => {
  const atS = harness.ctx.clock.now().getTime() / 1000 + 60
  return (await findLostUpgrade(harness.ctx.db, { deviceId: deviceIdOf(mac), atS }))?.id
}

describe('the command that has ended when a device reports the end of an upgrade without naming it', () => {
  test('is an activation, which has no download', async () => {
    const { mac, id } = await lose(activate)
    expect(await find(mac)).toBe(id)
  })

  test('is that of stage once the device has the whole image', async () => {
    const { mac, id } = await lose(stage)
    expect(await find(mac)).toBeUndefined()
    const { orgId } = harness
    const at = harness.ctx.clock.now()
    const moment = { at, atMs: harness.ctx.serviceClock.nowMs() }
    await inTx(harness.ctx, async (tx) => {
      await startDownloads(tx, [{ orgId, commandId: id, imageId }], moment)
      await touchDownloads(tx, [{ orgId, commandId: id, bytes: 1000, last: true }], moment)
    })
    expect(await find(mac)).toBe(id)
  })

  test('is never a restart', async () => {
    const { mac } = await lose({ kind: 'restart', params: {} })
    expect(await find(mac)).toBeUndefined()
  })
})
