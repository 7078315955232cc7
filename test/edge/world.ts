import { type KeyObject, generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { signingRequest } from '../../src/agent/signing-request.ts'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { openGatewayTls } from '../../src/gateway/certificates/gateway-tls.ts'
import type { EdgeLimits } from '../../src/gateway/edge/limits.ts'
import {
  decodeFrame,
  encodeCall,
  encodeError,
  encodeNotification,
  encodeResult,
} from '../../src/gateway/websockets/jsonrpc.ts'
import { createProtocols } from '../../src/gateway/protocols.ts'
import { type Gateway, startGateway } from '../../src/gateway/start-gateway.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { addMxedge } from '../support/fleets/mxedges.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { quickTicks } from '../support/servers/quick-ticks.ts'

/** A server with a gateway that agents can register at and connect to. */
export interface EdgeWorld extends TestServer {
  readonly gateway: Gateway
  /** Advances the clocks of the server and the gateway. */
  advance(ms: number): void
  /** Moves only the wall clock, also backwards: connections don't age. */
  shift(ms: number): void
}

export async function startEdgeWorld(
  limits: Partial<EdgeLimits> = {},
  bounds: Parameters<typeof startTestServer>[3] = {},
): Promise<EdgeWorld> {
  const startMs = Date.now()
  let passedMs = 0
  let shiftedMs = 0
  const server = await startTestServer({ now: () => new Date(startMs + passedMs + shiftedMs) }, {}, null, bounds)
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const tls = await openGatewayTls({ dataDir: server.dataDir, hosts: ['127.0.0.1', 'localhost'], now: new Date() })
  const address = { host: '127.0.0.1', port: 0, tls }
  const quick = { lookMs: 1, ...limits }
  const gateway = await startGateway(server.ctx, {
    protocols: createProtocols({
      ucentral: { ...address, limits: quick },
      edge: { ...address, dataDir: server.dataDir, limits: quick },
    }),
    nodeId: randomUUID(),
    limits: quickTicks,
    monotonicMs: () => startMs + passedMs,
  })
  server.edge.port = gateway.portOf('edge')
  return {
    ...server,
    gateway,
    advance(ms) {
      passedMs += ms
    },
    shift(ms) {
      shiftedMs += ms
    },
    async close() {
      await gateway.stop()
      await server.close()
    },
  }
}

/** The credentials of a registered agent. */
export interface Credentials {
  readonly mxedgeId: string
  readonly key: KeyObject
  readonly certificate: string
  readonly ca: string
}

export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

export function tryToRegister(world: TestServer, code: string, key: KeyObject): Promise<Answer> {
  return world.call('POST', '/mxedges/register', { as: null, body: { code, csr: signingRequest(key) } })
}

export async function register(world: TestServer, code: string, key = newKey()): Promise<Credentials> {
  const { status, body } = await tryToRegister(world, code, key)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return { mxedgeId: body.mxedge_id, key, certificate: body.certificate, ca: body.ca }
}

export const report = {
  uptime_s: 100,
  services: [
    { name: 'mxagent', version: '1.0.0', state: 'running' },
    { name: 'tunterm', version: '2.0.0', state: 'running' },
  ],
  cpu_percent: 12.5,
  memory: { total: 8_000_000_000, free: 6_000_000_000 },
  disk: { total: 100_000_000_000, free: 40_000_000_000 },
  addresses: ['192.0.2.7'],
}

export const hello = {
  agent: '0.1.0',
  boot_id: 'first-boot',
  model: 'ME-VM',
  serial: 'S1',
  distro: 'bookworm',
  methods: ['service.control', 'port.bounce', 'aps.disconnect', 'configure'],
  config_sha256: null,
  report,
}

export interface AgentCall {
  readonly id: number
  readonly method: string
  readonly params: AnyJson
}

/** An agent that sends only the test's messages. */
export interface AgentPeer {
  readonly socket: WebSocket
  /** Resolves with the close code. */
  readonly closed: Promise<number>
  /** Everything that the gateway answered to the agent's own calls. */
  readonly answers: AnyJson[]
  /** Sends hello; resolves with the answer, or rejects when the gateway closes the connection. */
  hello(changes?: object): Promise<AnyJson>
  call(id: number, method: string, params: AnyJson): void
  notify(method: string, params: AnyJson): void
  /** The next call, except those that bring the configuration. */
  nextCall(): Promise<AgentCall>
  nextConfiguration(): Promise<AgentCall>
  succeed(call: AgentCall, text?: string): void
  fail(call: AgentCall, code: number, message: string): void
}

/**
 * Opens the connection of an agent.
 * @param greeting The params of its hello.
 * @throws Error when the gateway refuses it.
 */
export async function openAgent(
  world: EdgeWorld,
  { key, certificate, ca }: Pick<Credentials, 'key' | 'certificate' | 'ca'>,
  greeting: object = hello,
): Promise<AgentPeer> {
  const socket = new WebSocket(`wss://127.0.0.1:${world.gateway.portOf('edge')}/`, {
    ca,
    cert: certificate,
    key: key.export({ type: 'pkcs8', format: 'pem' }),
    perMessageDeflate: false,
  })
  const closed = new Promise<number>((resolve) => socket.on('close', resolve))
  const answers: AnyJson[] = []
  const calls: AgentCall[] = []
  const configurations: AgentCall[] = []
  socket.on('message', (data: Buffer) => {
    const frame = decodeFrame(data.toString('utf8'))
    if (frame.kind === 'reply') answers.push(frame)
    if (frame.kind !== 'call' || frame.id === null) return
    const { id, method, params } = frame
    ;(method === 'configure' ? configurations : calls).push({ id, method, params })
  })
  await once(socket, 'open')
  socket.on('error', () => socket.terminate())
  onTestFinished(() => socket.terminate())
  const isOpen = () => socket.readyState === WebSocket.OPEN
  const missing = (what: string) => () => `${what} on a connection that is ${isOpen() ? 'open' : 'closed'}`
  const ids = (id: string) => ({ command_id: id, boot_id: 'first-boot' })
  return {
    socket,
    closed,
    answers,
    async hello(changes = {}) {
      socket.send(encodeCall(1, 'hello', { ...greeting, ...changes }))
      const refused = closed.then((code) => Promise.reject(new Error(`closed with ${code}`)))
      return Promise.race([waitUntil('the answer to hello', () => answers.find(({ id }) => id === 1) ?? null), refused])
    },
    call: (id, method, params) => socket.send(encodeCall(id, method, params)),
    notify: (method, params) => socket.send(encodeNotification(method, params)),
    nextCall: () => waitUntil(missing('a call from the gateway'), () => calls.shift() ?? null),
    nextConfiguration: () => waitUntil(missing('a configuration'), () => configurations.shift() ?? null),
    succeed: ({ id, params }, text = 'done') =>
      socket.send(encodeResult(id, { ...ids(params.command_id), repeated: false, text })),
    fail: ({ id, params }, code, message) =>
      socket.send(encodeError(id, { code, message, data: ids(params.command_id) })),
  }
}

/** An appliance whose agent has registered, connected and received its configuration. */
export interface ConnectedAgent {
  readonly id: string
  readonly credentials: Credentials
  readonly agent: AgentPeer
}

export async function connectAgent(world: EdgeWorld, body: object = {}): Promise<ConnectedAgent> {
  const { id, magic } = await addMxedge(world, body)
  const credentials = await register(world, magic)
  const agent = await openAgent(world, credentials)
  await agent.hello()
  agent.succeed(await agent.nextConfiguration())
  return { id, credentials, agent }
}

/** Returns the types of the events of an appliance, oldest first. */
export async function eventTypes({ ctx }: TestServer, mxedgeId: string): Promise<string[]> {
  const rows = await ctx.db
    .selectFrom('mxedgeEvent')
    .select('type')
    .where('mxedgeId', '=', mxedgeId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()
  return rows.map(({ type }) => type)
}
