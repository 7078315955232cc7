import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepCommands } from '../../../src/devices/commands/record-commands.ts'
import { settleCompletedRestores } from '../../../src/devices/commands/store-restores.ts'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import { inTx, json } from '../../../src/platform/database/db.ts'
import { addSite, claimNewDevice, connectDevice } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
})
afterAll(() => server.close())

const able: DeviceCapabilities = {
  commands: ['restart', 'stage', 'activate', 'restore_backup', 'snapshot'],
  restart_members: [],
  restart_nodes: [],
}

interface Options {
  readonly capabilities?: DeviceCapabilities
  readonly isConnected?: boolean
}

async function addDevice({ capabilities = able, isConnected = true }: Options = {}) {
  const device = await claimNewDevice(server, { siteId, type: 'switch' })
  if (isConnected) await connectDevice(server.ctx, device.mac, { type: 'switch', capabilities })
  return device
}

const commandsOf = (id: string) =>
  server.ctx.db.selectFrom('deviceCommand').select(['kind', 'state', 'params']).where('deviceId', '=', id).execute()
const eventsOf = (id: string) =>
  server.ctx.db.selectFrom('deviceEvent').select('type').where('deviceId', '=', id).orderBy('id').execute()
async function lastEvent(id: string): Promise<unknown> {
  const query = server.ctx.db.selectFrom('deviceEvent').select(['type', 'event']).where('deviceId', '=', id)
  const last = await query.orderBy('id', 'desc').executeTakeFirst()
  return { type: last?.type, ...last?.event }
}
const path = (id: string, what: string): string => `/sites/${siteId}/devices/${id}/${what}`

describe('a restore of the backup version', () => {
  test('is queued, with its audit record', async () => {
    const device = await addDevice()
    expect(await server.call('POST', path(device.id, 'restore_backup_version'))).toMatchObject({
      status: 200,
      body: {},
    })
    expect(await commandsOf(device.id)).toEqual([{ kind: 'restore_backup', state: 'queued', params: {} }])
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=100`)
    const messages = logs.body.results.map(({ message }: { message: string }) => message)
    expect(messages).toContain(`Restore the backup version of device ${device.mac}`)
  })

  test('of an offline device is refused in the words that clients know', async () => {
    const device = await addDevice({ isConnected: false })
    const answer = await server.call('POST', path(device.id, 'restore_backup_version'))
    expect(answer).toMatchObject({ status: 400, body: 'cannot restore backup version on an offline device' })
    expect(await commandsOf(device.id)).toEqual([])
  })

  test('of a device without a backup version is refused with the reason', async () => {
    const commands = able.commands.filter((kind) => kind !== 'restore_backup')
    const refusals = { restore_backup: 'no backup version' }
    const device = await addDevice({ capabilities: { ...able, commands, refusals } })
    expect(await server.call('POST', path(device.id, 'restore_backup_version'))).toMatchObject({
      status: 400,
      body: 'no backup version',
    })
    expect(await commandsOf(device.id)).toEqual([])
  })

  test('names the version in the command and in the event', async () => {
    const device = await addDevice({ capabilities: { ...able, backup_version: '21.4R3.15' } })
    await server.call('POST', path(device.id, 'restore_backup_version'))
    expect(await commandsOf(device.id)).toMatchObject([{ params: { version: '21.4R3.15' } }])
    expect(await lastEvent(device.id)).toMatchObject({
      type: 'SW_UPGRADE_BY_USER',
      text: 'Restore of the backup version 21.4R3.15',
      audit_id: expect.any(String),
    })
  })

  test('that could not be sent in time has failed', async () => {
    const device = await addDevice()
    await server.call('POST', path(device.id, 'restore_backup_version'))
    await server.ctx.db
      .updateTable('deviceCommand')
      .set({ expiresAt: new Date(0) })
      .where('deviceId', '=', device.id)
      .execute()
    await sweepCommands(server.ctx)
    expect(await lastEvent(device.id)).toMatchObject({
      type: 'SW_UPGRADE_FAILED',
      text: 'Restore of the backup version: It could not be sent in time',
    })
  })

  test('is refused while the device is restoring already, and possible once that is settled', async () => {
    const device = await addDevice()
    const restore = () => server.call('POST', path(device.id, 'restore_backup_version'))
    const setCommand = (values: { readonly state?: 'sent' | 'done'; readonly settledAt?: Date }) =>
      server.ctx.db.updateTable('deviceCommand').set(values).where('deviceId', '=', device.id).execute()
    const refused = { status: 400, body: 'cannot restore backup version while the device is restoring it already' }
    const both = await Promise.all([restore(), restore()])
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
    expect(both.find(({ status }) => status === 400)).toMatchObject(refused)
    for (const state of ['sent', 'done'] as const) {
      await setCommand({ state })
      expect(await restore()).toMatchObject(refused)
      expect(await server.call('POST', path(device.id, 'snapshot'))).toMatchObject({ status: 400 })
    }
    expect(await commandsOf(device.id)).toHaveLength(1)
    await setCommand({ settledAt: new Date() })
    expect(await restore()).toMatchObject({ status: 200 })
    expect(await commandsOf(device.id)).toHaveLength(2)
  })

  test("of a device that can't do it is refused in the words that clients know", async () => {
    const device = await addDevice({ capabilities: { ...able, commands: ['restart'] } })
    const answer = await server.call('POST', path(device.id, 'restore_backup_version'))
    expect(answer).toMatchObject({ status: 400, body: 'restore-backup-fw-version not supported' })
  })

  test.each([
    [null, 'unknown'],
    ['1.0.0', 'done'],
  ])('without an answer, of the backup version %s, is %s once the device has booted it', async (version, state) => {
    const device = await addDevice()
    await server.call('POST', path(device.id, 'restore_backup_version'))
    const { db } = server.ctx
    const params = json(version === null ? {} : { version })
    await db
      .updateTable('deviceCommand')
      .set({ state: 'unknown', outcome: json({ why: 'connection_lost' }), params, sentAt: new Date(0), sentMs: 1 })
      .where('deviceId', '=', device.id)
      .execute()
    await db
      .updateTable('deviceStatus')
      .set({ connected: true, bootedAt: new Date(), firmware: '1.0.0' })
      .where('deviceId', '=', device.id)
      .execute()
    const at = new Date()
    const settled = await inTx(server.ctx, (tx) => settleCompletedRestores(tx, [device.id], at))
    expect(settled).toMatchObject([{ version, isLast: true, isFound: state === 'done' }])
    expect(await commandsOf(device.id)).toMatchObject([{ state }])
  })

  test('of several devices restores all or none', async () => {
    const [a, b, offline] = [await addDevice(), await addDevice(), await addDevice({ isConnected: false })]
    const restore = (ids: readonly string[]) =>
      server.call('POST', `/sites/${siteId}/devices/restore_backup_version`, { body: { device_ids: ids } })
    expect(await restore([a.id, offline.id])).toMatchObject({
      status: 400,
      body: `cannot restore backup version on an offline device: ${offline.mac}`,
    })
    expect(await commandsOf(a.id)).toEqual([])
    expect(await restore([a.id, b.id, a.id])).toMatchObject({ status: 200, body: {} })
    expect([...(await commandsOf(a.id)), ...(await commandsOf(b.id))]).toHaveLength(2)
    expect(await restore([a.id, '00000000-0000-0000-1000-020000000000'])).toMatchObject({ status: 404 })
    expect(await restore([])).toMatchObject({ status: 400, body: { detail: expect.stringContaining('device_ids') } })
  })
})

describe('a recovery snapshot', () => {
  test('is queued, with its audit record and its event', async () => {
    const device = await addDevice()
    expect(await server.call('POST', path(device.id, 'snapshot'))).toMatchObject({ status: 200, body: {} })
    expect(await commandsOf(device.id)).toEqual([{ kind: 'snapshot', state: 'queued', params: {} }])
    expect((await eventsOf(device.id)).map(({ type }) => type)).toContain('SW_RECOVERY_SNAPSHOT_REQUESTED')
  })

  test('of an access point is refused', async () => {
    const device = await addDevice({ capabilities: { ...able, commands: ['restart'] } })
    const answer = await server.call('POST', path(device.id, 'snapshot'))
    expect(answer).toMatchObject({ status: 400, body: "The device can't take a recovery snapshot" })
  })
})
