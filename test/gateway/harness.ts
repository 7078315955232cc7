import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../src/access/scope.ts'
import type { NewCommand } from '../../src/devices/commands/command.ts'
import { deviceIdOf, newClaimCode } from '../../src/devices/device.ts'
import { insertCommands } from '../../src/devices/commands/store.ts'
import { takeOverSessions } from '../../src/devices/sessions/take-over-session.ts'
import {
  type DeviceCa,
  type GatewayTls,
  type KeyPairPem,
  issueDeviceCertificate,
  issueGatewayTls,
  makeCa,
} from '../../src/gateway/certificates/device-ca.ts'
import type { Limits } from '../../src/gateway/limits.ts'
import type { Protocol } from '../../src/gateway/protocol.ts'
import { createProtocols } from '../../src/gateway/protocols.ts'
import { type Gateway, startGateway } from '../../src/gateway/start-gateway.ts'
import { decodeFrame, encodeNotification, encodeResult } from '../../src/gateway/websockets/jsonrpc.ts'
import type { UcentralLimits } from '../../src/gateway/ucentral/limits.ts'
import { type ConnectionPolicy, defaultConnections } from '../../src/platform/queues/connection-gate.ts'
import type { Context } from '../../src/platform/context.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { sha256Hex } from '../../src/platform/secrets.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import type { CommandState } from '../../src/devices/tables.ts'
import type { DeviceType } from '../../src/events/device-type.ts'
import { afterFile } from '../support/after-file.ts'
import type { AtEnd } from '../support/temporary-dir.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'
import { createTestContext } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { insertOrg } from '../../src/orgs/store.ts'

const quick = { lookMs: 1, ...quickTicks } satisfies AllLimits

type AllLimits = Partial<Limits & UcentralLimits>

/** `port` is the port of uCentral. */
export type RunningGateway = Gateway & { readonly port: number }

export interface StartOptions {
  readonly nodeId?: string
  readonly limits?: AllLimits
  readonly connections?: ConnectionPolicy
  /** True: it measures waits by its own clock instead of that of the harness. */
  readonly hasOwnClock?: boolean
  /** Further protocols besides uCentral. */
  readonly protocols?: readonly Protocol[]
}

type QueuedOrder = Pick<NewCommand, 'kind' | 'params'> & { siteUpgradeId?: string; siteId?: string }

export interface GatewayHarness {
  readonly ctx: Context
  readonly ca: DeviceCa
  readonly orgId: string
  readonly nodeId: string
  /** Advances the clock of the gateway. */
  advance(ms: number): void
  start(options?: StartOptions): Promise<RunningGateway>
  /** Creates a registered and claimed device that has never connected. */
  claim(mac: string, type?: DeviceType): Promise<string>
  status(mac: string): Promise<{
    connected: boolean
    bootCount: number
    firmware: string | null
    load: unknown
  }>
  queue(mac: string, order: QueuedOrder): Promise<string>
  /** Queues the command for each of the devices, in one transaction. */
  queueAll(macs: readonly string[], order: QueuedOrder): Promise<string[]>
  command(id: string): Promise<{ state: CommandState; outcome: unknown; epoch: string | null }>
  untilCommand(id: string, state: CommandState): Promise<unknown>
  /** @param isConnected Default: true. */
  untilConnected(mac: string, isConnected?: boolean): Promise<unknown>
  /** Returns the types of the device events of the organization, oldest first. */
  events(): Promise<string[]>
}

/** Prepares a database and gateways for the tests of the file. Both end after them, or by `atEnd`. */
export async function createGatewayHarness(atEnd: AtEnd = afterFile): Promise<GatewayHarness> {
  let nowMs = Date.parse('2026-11-20T12:00:00Z')
  const context = await createTestContext({ now: () => new Date(nowMs) })
  const { ctx } = context
  const ca = await makeCa()
  const tls: GatewayTls = await issueGatewayTls(ca, ['127.0.0.1', 'localhost'])
  const nodeId = randomUUID()
  const orgId = randomUUID()
  const content = { name: 'Test', doc: {}, at: ctx.clock.now() }
  await inTx(ctx, (tx) => insertOrg(tx, systemScope('gateway', orgId), content))

  const status: GatewayHarness['status'] = (mac) =>
    ctx.db
      .selectFrom('deviceStatus')
      .select(['connected', 'bootCount', 'firmware', 'load'])
      .where('deviceId', '=', deviceIdOf(mac))
      .executeTakeFirstOrThrow()

  const running = new Set<Gateway>()
  async function stop(gateway: Gateway): Promise<void> {
    if (running.delete(gateway)) await gateway.stop()
  }
  atEnd(async () => {
    await Promise.all([...running].map(stop))
    await context.close()
  })

  const command: GatewayHarness['command'] = (id) =>
    ctx.db
      .selectFrom('deviceCommand')
      .select(['state', 'outcome', 'epoch'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const queueAll: GatewayHarness['queueAll'] = async (macs, { siteUpgradeId = null, siteId = null, ...order }) => {
    const now = ctx.clock.now()
    const expiresAt = new Date(now.getTime() + 600_000)
    const rows = macs.map((mac) => ({
      ...order,
      id: uuidv7(),
      deviceId: deviceIdOf(mac),
      siteId,
      siteUpgradeId,
      attempt: 1,
      createdAt: now,
      expiresAt,
    }))
    if ('image_id' in order.params) await insertImage(ctx, orgId, order.params.image_id)
    // The caller passes the kind and its params together.
    await inTx(ctx, (tx) => insertCommands(tx, systemScope('rollout', orgId), rows as NewCommand[]))
    return rows.map(({ id }) => id)
  }
  return {
    ctx,
    ca,
    orgId,
    nodeId,
    advance(ms) {
      nowMs += ms
    },
    async start(options = {}) {
      const limits = { ...quick, ...options.limits }
      const { connections = defaultConnections } = options
      const address = { host: '127.0.0.1', port: 0, tls, limits, connections }
      const gateway = await startGateway(ctx, {
        protocols: [
          ...createProtocols({ ucentral: address, edge: { ...address, dataDir: context.dataDir } }),
          ...(options.protocols ?? []),
        ],
        nodeId: options.nodeId ?? nodeId,
        ...(options.hasOwnClock !== true && { monotonicMs: () => nowMs }),
        limits,
      })
      running.add(gateway)
      onTestFinished(() => stop(gateway))
      return { ...gateway, port: gateway.portOf('ucentral') }
    },
    claim: (mac, type = 'ap') => claimDevice(ctx, orgId, { mac, type }),
    status,
    async queue(mac, order) {
      const [id = ''] = await queueAll([mac], order)
      return id
    },
    queueAll,
    command,
    untilCommand: (id, state) =>
      waitUntil(`command ${state}`, async () => {
        const row = await command(id)
        return row.state === state ? (row.outcome ?? {}) : null
      }),
    untilConnected: (mac, isConnected = true) =>
      waitUntil(isConnected ? 'connected' : 'disconnected', async () => (await status(mac)).connected === isConnected),
    async events() {
      const rows = await ctx.db
        .selectFrom('deviceEvent')
        .select('type')
        .where('orgId', '=', orgId)
        .orderBy('id')
        .execute()
      return rows.map(({ type }) => type)
    },
  }
}

/** The image of a command, which a test names by any id. */
export async function insertImage(ctx: Context, orgId: string, id: string): Promise<void> {
  await ctx.db
    .insertInto('firmwareImage')
    .values({ orgId, id, sha256: sha256Hex(id), sizeBytes: '1000', createdAt: ctx.clock.now() })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Writes the changes of a claim to the rows that the gateway reads. */
export async function claimDevice(
  ctx: Context,
  orgId: string,
  { mac, type }: { mac: string; type: DeviceType },
): Promise<string> {
  const id = deviceIdOf(mac)
  const at = ctx.clock.now()
  const hardware = { id, mac, serial: mac, model: 'test_model', type, claimCode: newClaimCode(), createdAt: at }
  await inTx(ctx, async (tx) => {
    await tx
      .insertInto('deviceRegistry')
      .values({ ...hardware, orgId, firmware: null, lastSeenAt: null })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ orgId }))
      .execute()
    await tx
      .insertInto('device')
      .values({ ...hardware, orgId, siteId: null, name: null, doc: documentText({}), modifiedAt: at })
      .execute()
    await takeOverSessions(tx, systemScope('gateway', orgId), { deviceIds: [id], at })
  })
  return id
}

export function newMac(): string {
  return `02${randomBytes(5).toString('hex')}`
}

export interface ReceivedCall {
  readonly id: number
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** A device that sends only the test's messages. */
export interface TestDevice {
  readonly mac: string
  readonly socket: WebSocket
  /** The calls that belong to commands. */
  readonly calls: ReceivedCall[]
  /** The calls that request regular reports from the device; it accepts them unless the test disables that. */
  readonly telemetryCalls: ReceivedCall[]
  /** The calls that request one report at once; it accepts them. */
  readonly stateCalls: ReceivedCall[]
  /** Resolves with the close code. */
  readonly closed: Promise<number>
  send(method: string, params: Readonly<Record<string, unknown>>): void
  hello(params?: Readonly<Record<string, unknown>>): void
  reply(id: number, status: { error: number; text?: string; result?: string }): void
  nextCall(): Promise<ReceivedCall>
  /** Resolves when the gateway has requested regular reports, and the device has answered, if it does. */
  untilTelemetryCall(): Promise<unknown>
}

/** Opens the WebSocket of a device. @throws Error when the gateway refuses it. */
export async function openDevice(
  port: number,
  ca: DeviceCa,
  options: { mac?: string; trust?: string; identity?: KeyPairPem; answersTelemetry?: boolean } = {},
): Promise<TestDevice> {
  const mac = options.mac ?? newMac()
  const { certificatePem, keyPem } = options.identity ?? (await issueDeviceCertificate(ca, mac))
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, 'ucentral-broker', {
    ca: options.trust ?? ca.certificatePem,
    cert: certificatePem,
    key: keyPem,
    perMessageDeflate: false,
  })
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  const calls: ReceivedCall[] = []
  const telemetryCalls: ReceivedCall[] = []
  const stateCalls: ReceivedCall[] = []
  socket.on('message', (data: Buffer) => {
    const frame = decodeFrame(data.toString('utf8'))
    if (frame.kind !== 'call' || frame.id === null) return
    const { id, method, params } = frame
    if (method === 'request') {
      reply(id, { error: 0, text: 'success' })
      return void stateCalls.push({ id, method, params })
    }
    if (method !== 'telemetry') return void calls.push({ id, method, params })
    if (options.answersTelemetry !== false) reply(id, { error: 0, text: 'Success' })
    telemetryCalls.push({ id, method, params })
  })
  const reply: TestDevice['reply'] = (id, status) => socket.send(encodeResult(id, { serial: mac, uuid: 1, status }))
  await once(socket, 'open')
  socket.on('error', () => socket.terminate())
  onTestFinished(() => socket.terminate())
  return {
    mac,
    socket,
    calls,
    telemetryCalls,
    stateCalls,
    closed,
    send: (method, params) => socket.send(encodeNotification(method, { serial: mac, ...params })),
    hello: (params = {}) => socket.send(encodeNotification('connect', { ...connectParams(mac), ...params })),
    reply,
    nextCall: () => waitUntil('a call from the gateway', () => calls.shift() ?? null),
    untilTelemetryCall: () => waitUntil('the telemetry call', () => telemetryCalls.length > 0),
  }
}

export function connectParams(mac: string): Readonly<Record<string, unknown>> {
  return {
    serial: mac,
    uuid: 1,
    firmware: '1.0.0',
    reason: 'socket',
    capabilities: { compatible: 'test_model', model: 'Test model', platform: 'ap' },
  }
}
