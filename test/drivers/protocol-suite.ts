import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type SiteScope, grant, systemScope } from '../../src/access/scope.ts'
import { findRefusal } from '../../src/devices/commands/capabilities.ts'
import type { CommandOrder } from '../../src/devices/commands/command.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { listDeviceCommands } from '../../src/devices/commands/store-list.ts'
import { presentCommand } from '../../src/devices/commands/wire.ts'
import type { CommandKind, DeviceCapabilities } from '../../src/devices/tables.ts'
import type { DeviceType } from '../../src/events/device-type.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { type GatewayHarness, newMac } from '../gateway/harness.ts'
import { type LinkSamples, type PeerRows, type TestPeer, describeLinks, openLinkWorld } from './link-suite.ts'

/** The samples of a protocol of devices for the suite. */
export interface ProtocolSamples extends Pick<
  LinkSamples<CommandOrder>,
  'family' | 'protocol' | 'repliesEndWithLink' | 'helloMs'
> {
  /** The type of the devices; access points if it is absent. */
  readonly type?: DeviceType
  /** The capabilities of its device. */
  readonly capabilities: DeviceCapabilities
  /** A command whose outcome is unknown when the connection breaks before the reply; a restart by default. */
  readonly losable?: CommandOrder
  /** Opens the connection of a device that has not sent anything yet. */
  readonly open: (target: {
    readonly port: number
    readonly mac: string
    readonly harness: GatewayHarness
  }) => Promise<TestPeer>
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

/** Devices are known by their MAC addresses. */
function rowsOfDevices(type: DeviceType | undefined): PeerRows<CommandOrder> {
  return {
    async add(harness) {
      const mac = newMac()
      await harness.claim(mac, type)
      return mac
    },
    newName: newMac,
    async session({ ctx }, mac) {
      const session = await ctx.db
        .selectFrom('deviceSession')
        .leftJoin('deviceStatus', 'deviceStatus.deviceId', 'deviceSession.deviceId')
        .select(['deviceSession.epoch', 'deviceSession.family', 'deviceStatus.connected', 'deviceStatus.capabilities'])
        .where('deviceSession.deviceId', '=', deviceIdOf(mac))
        .executeTakeFirst()
      if (session === undefined) return undefined
      const { epoch, connected, ...recorded } = session
      return { epoch, connected: connected === true, recorded }
    },
    queue: (harness, mac, order) => harness.queue(mac, order),
    command: (harness, id) => harness.command(id),
    async countDowns({ ctx }, mac) {
      const rows = ctx.db.selectFrom('deviceEvent').select('type').where('deviceId', '=', deviceIdOf(mac)).execute()
      return (await rows).filter(({ type: happened }) => happened.endsWith('_DISCONNECTED')).length
    },
  }
}

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

/** Tests the behavior of links of devices that all protocols share, in a real gateway with a real database. */
export function describeProtocol({ type, capabilities, losable = restart, open, ...samples }: ProtocolSamples): void {
  const { family } = samples
  const can = ({ kind }: CommandOrder): boolean => capabilities.commands.includes(kind)
  const links: LinkSamples<CommandOrder> = {
    ...samples,
    rows: rowsOfDevices(type),
    recorded: { family, capabilities },
    orders: orders.filter(can),
    losable,
    open: ({ name, ...target }) => open({ ...target, mac: name }),
  }
  const world = openLinkWorld(links)
  const { start, connectNew, queue, untilCommand } = world
  describeLinks(links, world)

  describe(`a link of ${family} to a device`, () => {
    test.each(orders.filter((order) => !can(order)))('carries no $kind, which its devices lack', async (order) => {
      const { name: mac, peer } = await connectNew(await start())
      const refused = await queue(mac, order)
      expect(await untilCommand(refused, 'rejected')).toEqual({
        code: 'unsupported',
        text: findRefusal(capabilities, order),
        final: true,
      })
      const next = await queue(mac, restart)
      ;(await peer.nextCall()).accept()
      await untilCommand(next, 'done')
    })

    test('lists what it carries for an upgrade, with each state and its time', async () => {
      const { name: mac, peer } = await connectNew(await start())
      const harness = world.harness()
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
        await untilCommand(id, 'done')
        const [done] = await list()
        expect(done).toMatchObject({ id, status: 'done', created_time: sent?.created_time, sent_time: sent?.sent_time })
        expect(done?.finished_time).toBeGreaterThan(sent?.sent_time ?? Infinity)
        harness.advance(REBOOT_MS)
      }
      expect(await list()).toHaveLength(own.length)
    })
  })
}
