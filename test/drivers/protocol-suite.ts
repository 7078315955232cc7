import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type SiteScope, grant, systemScope } from '../../src/access/scope.ts'
import { findRefusal } from '../../src/devices/commands/capabilities.ts'
import type { CommandOrder } from '../../src/devices/commands/command.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { listDeviceCommands } from '../../src/devices/commands/store-list.ts'
import { presentCommand } from '../../src/devices/commands/wire.ts'
import type { Protocol } from '../../src/gateway/protocol.ts'
import type { CommandKind, DeviceCapabilities } from '../../src/devices/tables.ts'
import type { DeviceType } from '../../src/events/device-type.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { type GatewayHarness, type RunningGateway, createGatewayHarness, newMac } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'

/** A device of the protocol, on the other end of a real connection. */
export interface TestPeer {
  /** Resolves when the gateway, or the test, has closed the connection. */
  readonly closed: Promise<unknown>
  /** Sends the hello of a device. */
  hello(): void
  nextCall(): Promise<TestCall>
  /** A call of an older connection, to be answered on this one. */
  adopt(call: TestCall): TestCall
  /** Breaks the connection. */
  drop(): void
}

export interface TestCall {
  readonly id: number
  /** The whole text of the call. */
  readonly text: string
  accept(): void
  refuse(reason: string): void
}

/** The samples of a protocol for the suite. */
export interface ProtocolSamples {
  /** The type of the devices; access points if it is absent. */
  readonly type?: DeviceType
  readonly family: string
  /** The protocol, if the gateway does not already support it. */
  readonly protocol?: Protocol
  /** The capabilities of its device. */
  readonly capabilities: DeviceCapabilities
  /** A command whose outcome is unknown when the connection breaks before the reply; a restart by default. */
  readonly losable?: CommandOrder
  /** True for a protocol whose replies belong to their connection: a command that lost it stays unknown. */
  readonly repliesEndWithLink?: boolean
  /** How long a device may take to send its hello. */
  readonly helloMs: number
  /** Opens the connection of a device that has not sent anything yet. */
  open(target: { readonly port: number; readonly mac: string; readonly harness: GatewayHarness }): Promise<TestPeer>
}

const image = { image_id: randomUUID(), version: '2.0.0' }
const orders: readonly CommandOrder[] = [
  { kind: 'restart', params: {} },
  { kind: 'upgrade', params: image },
  { kind: 'stage', params: image },
  { kind: 'activate', params: image },
  { kind: 'locate', params: {} },
  { kind: 'unlocate', params: {} },
  { kind: 'restore_backup', params: {} },
  { kind: 'snapshot', params: {} },
]
const [restart] = orders as [CommandOrder]
/** A device whose connection is still open after this time has not rebooted, and may get the next command. */
const REBOOT_MS = 30_000
const upgradeKinds: ReadonlySet<CommandKind> = new Set(['upgrade', 'stage', 'activate', 'snapshot', 'restore_backup'])

/** Moves the device to a separate site. */
async function assignSite({ ctx, orgId }: GatewayHarness, mac: string): Promise<SiteScope> {
  const at = ctx.clock.now()
  const id = randomUUID()
  const site = { orgId, id, name: id, timezone: 'UTC', doc: documentText({}), createdAt: at, modifiedAt: at }
  await ctx.db.insertInto('site').values(site).execute()
  await ctx.db.updateTable('device').set({ siteId: id }).where('id', '=', deviceIdOf(mac)).execute()
  const { actor } = systemScope('gateway', orgId)
  return grant({ orgId, actor, siteId: id, siteIds: [id] as const })
}

/** Tests the behaviour of links that all protocols share, in a real gateway with a real database. */
export function describeProtocol(samples: ProtocolSamples): void {
  const { family, capabilities, losable = restart } = samples
  const can = ({ kind }: CommandOrder): boolean => capabilities.commands.includes(kind)
  let harness: GatewayHarness & { close(): Promise<void> }
  beforeAll(async () => {
    harness = await createGatewayHarness()
  })
  afterAll(() => harness.close())

  const start = (): Promise<RunningGateway> =>
    harness.start(samples.protocol === undefined ? {} : { protocols: [samples.protocol] })

  async function connect(gateway: RunningGateway, mac: string): Promise<TestPeer> {
    const before = await epochOf(mac)
    const peer = await samples.open({ port: gateway.portOf(family), mac, harness })
    peer.hello()
    await waitUntil('the session', async () => (await epochOf(mac)) !== before)
    return peer
  }

  async function connectNew(gateway: RunningGateway): Promise<{ mac: string; peer: TestPeer }> {
    const mac = newMac()
    await harness.claim(mac, samples.type)
    return { mac, peer: await connect(gateway, mac) }
  }

  async function epochOf(mac: string): Promise<string | undefined> {
    const session = harness.ctx.db.selectFrom('deviceSession').select('epoch').where('deviceId', '=', deviceIdOf(mac))
    return (await session.executeTakeFirst())?.epoch
  }

  describe(`a link of ${family}`, () => {
    test('records the connection, with its protocol and what the device can do', async () => {
      const { mac } = await connectNew(await start())
      const session = await harness.ctx.db
        .selectFrom('deviceSession')
        .innerJoin('deviceStatus', 'deviceStatus.deviceId', 'deviceSession.deviceId')
        .select(['deviceSession.family', 'deviceStatus.connected', 'deviceStatus.capabilities'])
        .where('deviceSession.deviceId', '=', deviceIdOf(mac))
        .executeTakeFirstOrThrow()
      expect(session).toEqual({ family, connected: true, capabilities })
    })

    test.each(orders.filter(can))('carries $kind, and what the device replies', async (order) => {
      const { mac, peer } = await connectNew(await start())
      const refused = await harness.queue(mac, order)
      const call = await peer.nextCall()
      call.refuse('not now')
      expect(await harness.untilCommand(refused, 'rejected')).toMatchObject({ text: 'not now' })
      const accepted = await harness.queue(mac, order)
      const next = await peer.nextCall()
      if ('image_id' in order.params && order.kind !== 'activate')
        expect(next.text).toContain(`/firmware/${harness.orgId}/${accepted}/`)
      expect((await harness.command(accepted)).state).toBe('sent')
      next.accept()
      await harness.untilCommand(accepted, 'done')
    })

    test.each(orders.filter((order) => !can(order)))('carries no $kind, which its devices lack', async (order) => {
      const { mac, peer } = await connectNew(await start())
      const refused = await harness.queue(mac, order)
      expect(await harness.untilCommand(refused, 'rejected')).toEqual({
        code: 'unsupported',
        text: findRefusal(capabilities, order),
        final: true,
      })
      const next = await harness.queue(mac, restart)
      ;(await peer.nextCall()).accept()
      await harness.untilCommand(next, 'done')
    })

    test('lists what it carries for an upgrade, with each state and its time', async () => {
      const { mac, peer } = await connectNew(await start())
      const place = await assignSite(harness, mac)
      const siteUpgradeId = randomUUID()
      const list = async () => {
        const page = { limit: 100, page: 1 }
        const { rows } = await listDeviceCommands(harness.ctx.db, place, { deviceId: deviceIdOf(mac), page })
        return rows.map(presentCommand)
      }
      const own = orders.filter((order) => can(order) && upgradeKinds.has(order.kind))
      expect(own).not.toEqual([])
      for (const order of own) {
        const id = await harness.queue(mac, { ...order, siteUpgradeId, siteId: place.siteId })
        const call = await peer.nextCall()
        const [sent] = await list()
        expect(sent).toMatchObject({ id, kind: order.kind, upgrade_id: siteUpgradeId, status: 'sent' })
        harness.advance(1000)
        call.accept()
        await harness.untilCommand(id, 'done')
        const [done] = await list()
        expect(done).toMatchObject({ id, status: 'done', created_time: sent?.created_time, sent_time: sent?.sent_time })
        expect(done?.finished_time).toBeGreaterThan(sent?.sent_time ?? Infinity)
        harness.advance(REBOOT_MS)
      }
      expect(await list()).toHaveLength(own.length)
    })

    test('is closed when its device has a newer one, which carries the commands from then on', async () => {
      const gateway = await start()
      const { mac, peer } = await connectNew(gateway)
      const newer = await connect(gateway, mac)
      await peer.closed
      const id = await harness.queue(mac, restart)
      ;(await newer.nextCall()).accept()
      await harness.untilCommand(id, 'done')
      expect((await harness.status(mac)).connected).toBe(true)
    })

    test('that breaks leaves the command in flight unknown, and its device disconnected', async () => {
      const { mac, peer } = await connectNew(await start())
      const id = await harness.queue(mac, losable)
      await peer.nextCall()
      peer.drop()
      expect(await harness.untilCommand(id, 'unknown')).toEqual({ why: 'connection_lost' })
      await waitUntil('disconnected', async () => !(await harness.status(mac)).connected)
    })

    if (samples.repliesEndWithLink !== true)
      test('settles a command that was sent on a link before it', async () => {
        const gateway = await start()
        const { mac, peer } = await connectNew(gateway)
        const id = await harness.queue(mac, restart)
        const call = await peer.nextCall()
        peer.drop()
        await harness.untilCommand(id, 'unknown')
        const newer = await connect(gateway, mac)
        newer.adopt(call).accept()
        await harness.untilCommand(id, 'done')
      })

    test('is closed when its device does not say hello in time', async () => {
      const gateway = await start()
      const peer = await samples.open({ port: gateway.portOf(family), mac: newMac(), harness })
      harness.advance(samples.helloMs)
      await peer.closed
    })

    test('is closed when the gateway stops, which tells nobody that the device is down', async () => {
      const gateway = await start()
      const { mac, peer } = await connectNew(gateway)
      await gateway.stop()
      await peer.closed
      expect((await harness.status(mac)).connected).toBe(true)
    })
  })
}
