import { randomUUID } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { systemScope, type OrgScope } from '../../../src/access/scope.ts'
import { noCapabilities } from '../../../src/devices/commands/capabilities.ts'
import type { CommandOutcome } from '../../../src/devices/commands/command.ts'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { recordCommandsSent } from '../../../src/devices/commands/record-commands.ts'
import { recordConnects } from '../../../src/devices/sessions/record-connect.ts'
import { recordNodeStarted } from '../../../src/devices/sessions/record-node.ts'
import { type CommandToSend, isCommandToSend } from '../../../src/devices/commands/store.ts'
import { startDownloads, touchDownloads } from '../../../src/firmware/downloads/store-downloads.ts'
import type { Context } from '../../../src/platform/context.ts'
import { inTx, json } from '../../../src/platform/database/db.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import type { DeviceType } from '../../../src/events/device-type.ts'
import { recordEnds, recordOutcomes, recordReports, recordUnsent } from './record.ts'
import { deviceFacts, stockCapabilities } from './devices.ts'

export const OLD = '1.0.0'
export const NEW = '2.0.0'
export const MODEL = 'AP45'

/** A site to create, and how many devices it has. */
export interface SiteSeed {
  readonly devices: number
  readonly name?: string
  readonly timezone?: string
  readonly model?: string
  readonly type?: DeviceType
  /** Default: those of a stock device of the type. */
  readonly capabilities?: DeviceCapabilities
}

export interface SeededDevice {
  readonly id: string
  readonly mac: string
  readonly model: string
  readonly type: DeviceType
  readonly capabilities: DeviceCapabilities
}

export interface SeededSite {
  readonly id: string
  readonly devices: readonly SeededDevice[]
}

export interface SeededOrg {
  readonly scope: OrgScope
  readonly imageId: string
  readonly sites: readonly SeededSite[]
}

let macs = 0

/**
 * Creates an organization whose catalog has OLD and NEW for every model, with sites and claimed devices that never
 * connected.
 */
export async function seedOrg(ctx: Context, seeds: readonly SiteSeed[], orgId = uuidv7()): Promise<SeededOrg> {
  const at = ctx.clock.now()
  const times = { createdAt: at, modifiedAt: at }
  await ctx.db
    .insertInto('org')
    .values({ id: orgId, name: 'Seeded', doc: documentText({}), ...times })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const imageId = await seedCatalog(ctx, orgId, [...new Set(seeds.map(({ model = MODEL }) => model))])
  const sites: SeededSite[] = []
  for (const seed of seeds) {
    const { devices: count, name = 'Site', timezone = 'UTC', model = MODEL, type = 'ap' } = seed
    const { capabilities = stockCapabilities(type) } = seed
    const site = { orgId, id: uuidv7(), name, timezone, doc: documentText({}), ...times }
    await ctx.db.insertInto('site').values(site).execute()
    const devices = Array.from({ length: count }, () => {
      macs += 1
      const mac = macs.toString(16).padStart(12, '0')
      return { id: deviceIdOf(mac), mac, model, type, capabilities }
    })
    for (let start = 0; start < count; start += BATCH)
      await insertDevices(ctx, site, devices.slice(start, start + BATCH))
    sites.push({ id: site.id, devices })
  }
  return { scope: systemScope('operator', orgId), imageId, sites }
}

async function insertDevices(
  { db, clock }: Context,
  { orgId, id: siteId }: { readonly orgId: string; readonly id: string },
  devices: readonly SeededDevice[],
): Promise<void> {
  const createdAt = clock.now()
  const rows = devices.map(({ id, mac, model, type }) => {
    return { orgId, id, mac, model, type, serial: mac, claimCode: mac, createdAt }
  })
  await db.insertInto('deviceRegistry').values(rows).execute()
  const claim = { siteId, doc: documentText({}), modifiedAt: createdAt }
  await db
    .insertInto('device')
    .values(rows.map((row) => Object.assign({}, row, claim)))
    .execute()
  const statuses = devices.map(({ id }) => ({ orgId, deviceId: id, capabilities: json(noCapabilities) }))
  await db.insertInto('deviceStatus').values(statuses).execute()
}

async function seedCatalog(ctx: Context, orgId: string, models: readonly string[]): Promise<string> {
  const createdAt = ctx.clock.now()
  const imageId = uuidv7()
  await ctx.db
    .insertInto('firmwareImage')
    .values({ orgId, id: imageId, sha256: imageId, sizeBytes: '1000', createdAt })
    .execute()
  const lines = models.flatMap((model) =>
    [OLD, NEW].map((version) => ({ orgId, model, version, imageId, tag: null, createdAt })),
  )
  await ctx.db.insertInto('firmwareVersion').values(lines).execute()
  return imageId
}

/** The reaction of a device to an upgrade command. */
export type Reply =
  /** It downloads, flashes and reconnects with the new version. */
  | 'upgrades'
  /** It reconnects with the old version. */
  | 'keeps_old'
  | 'refuses'
  | 'refuses_content'
  /** It downloads the whole image and never reconnects. */
  | 'dies'
  /** It loses its connection before it has downloaded, and reconnects unchanged. */
  | 'loses_early'
  /** It loses its connection after it has downloaded, and reconnects upgraded. */
  | 'loses_late'
  /** It downloads the whole image, loses its connection and reconnects unchanged. */
  | 'loses_delivered'
  /** It downloads the whole image, and has not answered yet. */
  | 'fetches'
  /** It executes the command, and stays connected. */
  | 'does'
  /** It does not answer for now. */
  | 'silent'

/** Returns the reaction of a device to its command; a promise if it depends on what the device does first. */
export type Replies = (device: SeededDevice, attempt: number, command: CommandToSend) => Reply | Promise<Reply>

/** Devices, and the gateway that they are connected to: the engine sees both only through rows. */
export interface Fleet {
  /** The node of the gateway. */
  readonly nodeId: string
  /** `reason`: the reason that the client reports; a boot by default. */
  connect(devices: readonly SeededDevice[], firmware?: string, reason?: string): Promise<void>
  disconnect(devices: readonly SeededDevice[]): Promise<void>
  /** The gateway is killed and starts again; no device has reconnected yet. */
  markSessionsLost(): Promise<void>
  /** The gateway is killed and starts again, and the devices reconnect to it unchanged. */
  crash(devices: readonly SeededDevice[]): Promise<void>
  /**
   * Sends the commands that are queued, and those that were committed as sent since the last call, and lets the devices answer according to `reply`.
   * @returns How many commands were sent.
   */
  answer(reply?: Replies): Promise<number>
  /** The number of times that each device has flashed, by its id. */
  readonly flashes: ReadonlyMap<string, number>
  /** The number of commands that each device has been sent, by its id. */
  readonly attempts: ReadonlyMap<string, number>
}

const BATCH = 1000
const DAY_MS = 24 * 3600e3

export function createFleet(ctx: Context, orgs: readonly SeededOrg[]): Fleet {
  const nodeId = randomUUID()
  const devices = new Map(
    orgs.flatMap(({ sites }) => sites.flatMap((site) => site.devices.map((one) => [one.id, one]))),
  )
  const epochs = new Map<string, string>()
  const lives = new Map<string, { readonly firmware: string; readonly bootedMs: number }>()
  const flashes = new Map<string, number>()
  const attempts = new Map<string, number>()
  let committed: CommandToSend[] = []
  ctx.wakes.on('sent_commands', (_, rows) => void committed.push(...rows.filter(isCommandToSend)))

  async function connect(some: readonly SeededDevice[], firmware = OLD, reason = 'boot'): Promise<void> {
    for (let start = 0; start < some.length; start += BATCH) {
      const openings = some.slice(start, start + BATCH).map(({ mac, model, type, capabilities }) => {
        return { mac, family: 'ucentral', facts: deviceFacts({ firmware, model, type, capabilities, reason }) }
      })
      for (const { deviceId, epoch } of (await recordConnects(ctx, nodeId, openings)).opened)
        epochs.set(deviceId, epoch)
      await reportUptimes(some.slice(start, start + BATCH), firmware, reason)
    }
  }

  /**
   * Sends reports that prove a boot if the version does not: a device first connects with a long uptime, which each
   * boot resets.
   */
  async function reportUptimes(some: readonly SeededDevice[], firmware: string, reason: string): Promise<void> {
    const nowMs = ctx.clock.now().getTime()
    const reports = some.flatMap(({ id }) => {
      const before = lives.get(id)
      const bootedMs = before === undefined ? nowMs - DAY_MS : reason === 'boot' ? nowMs : before.bootedMs
      lives.set(id, { firmware, bootedMs })
      if (before !== undefined && (reason !== 'boot' || before.firmware !== firmware)) return []
      const uptimeS = Math.floor((nowMs - bootedMs) / 1000)
      return [
        { deviceId: id, epoch: epochs.get(id) ?? '0', load: {}, uptimeS, boot: null, firmware: null, telemetry: null },
      ]
    })
    if (reports.length > 0) await recordReports(ctx, reports)
  }

  async function disconnect(some: readonly SeededDevice[]): Promise<void> {
    await recordEnds(
      ctx,
      some.map(({ id }) => ({ deviceId: id, epoch: epochs.get(id) ?? '0' })),
    )
  }

  function markSessionsLost(): Promise<void> {
    // Nobody else knows what the dead process was about to send.
    committed = []
    return recordNodeStarted(ctx, nodeId)
  }

  async function crash(some: readonly SeededDevice[]): Promise<void> {
    await markSessionsLost()
    await connect(some, OLD, 'socket')
  }

  /** Takes the commands that were committed as sent, and queues those whose sessions have ended. */
  async function takeCommitted(): Promise<CommandToSend[]> {
    const taken = committed.filter(({ deviceId }) => devices.has(deviceId))
    committed = []
    const [sendable, others] = [true, false].map((isCarried) =>
      taken.filter(({ deviceId, epoch }) => (epochs.get(deviceId) === epoch) === isCarried),
    )
    if (others !== undefined && others.length > 0) await recordUnsent(ctx, others)
    return sendable ?? []
  }

  async function answer(reply: Replies = () => 'upgrades'): Promise<number> {
    const carried = await takeCommitted()
    const sent = [...carried, ...(await recordCommandsSent(ctx, nodeId, { limit: BATCH, rebooting: [] }))]
    const addressed = sent.flatMap((command) => {
      const device = devices.get(command.deviceId)
      return device === undefined ? [] : [{ command, device }]
    })
    const replies = await Promise.all(
      addressed.map(async ({ command, device }) => {
        const attempt = (attempts.get(device.id) ?? 0) + 1
        attempts.set(device.id, attempt)
        return { command, device, reply: await reply(device, attempt, command) }
      }),
    )
    const having = (...kinds: Reply[]) => replies.filter((one) => kinds.includes(one.reply))
    await download(
      ctx,
      having('loses_late', 'loses_delivered', 'fetches').map(({ command }) => command),
    )
    await recordOutcomes(ctx, [
      ...having('upgrades', 'keeps_old', 'dies', 'does').map(({ command }) =>
        ended(command, { kind: 'done', text: null }),
      ),
      ...having('refuses').map(({ command }) =>
        ended(command, { kind: 'rejected', code: '2', text: 'Download failed', final: false }),
      ),
      ...having('refuses_content').map(({ command }) =>
        ended(command, { kind: 'rejected', code: '2', text: 'Invalid signature', final: true }),
      ),
    ])
    for (const { device } of having('upgrades', 'keeps_old', 'loses_late'))
      flashes.set(device.id, (flashes.get(device.id) ?? 0) + 1)
    const gone = having('upgrades', 'keeps_old', 'dies', 'loses_early', 'loses_late', 'loses_delivered')
    await disconnect(gone.map(({ device }) => device))
    await connect(
      having('upgrades', 'loses_late').map(({ device }) => device),
      NEW,
    )
    await connect(
      having('keeps_old').map(({ device }) => device),
      OLD,
    )
    await connect(
      having('loses_early', 'loses_delivered').map(({ device }) => device),
      OLD,
      'socket',
    )
    return sent.length
  }

  return { nodeId, connect, disconnect, markSessionsLost, crash, answer, flashes, attempts }
}

function ended({ orgId, id, callId }: CommandToSend, outcome: CommandOutcome) {
  return { orgId, id, callId, outcome }
}

async function download(ctx: Context, commands: readonly CommandToSend[]): Promise<void> {
  const at = ctx.clock.now()
  const atMs = ctx.serviceClock.nowMs()
  for (const { orgId, id: commandId, params } of commands) {
    if (!('image_id' in params)) continue
    const key = { orgId, commandId, imageId: params.image_id }
    await inTx(ctx, async (tx) => {
      const started = await startDownloads(tx, [key], { at, atMs })
      const touched = await touchDownloads(tx, [{ orgId, commandId, bytes: 1000, last: true }], { at, atMs })
      const states = [started.get(commandId), touched.get(commandId)]
      if (states.some((state) => state === 'locked' || state === 'unshown'))
        throw new Error(`the download of ${commandId} is ${states.join(' and ')}`)
    })
  }
}
