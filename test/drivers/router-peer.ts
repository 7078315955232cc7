import { createHash, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { systemScope } from '../../src/access/scope.ts'
import { signingRequest } from '../../src/agent/signing-request.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { routerNameOf } from '../../src/devices/routers/identity.ts'
import { insertRouterKey } from '../../src/devices/routers/store.ts'
import { decodeFrame, encodeCall, encodeError, encodeResult } from '../../src/gateway/jsonrpc.ts'
import { checkSigningRequest } from '../../src/gateway/sign-agent.ts'
import { inTx } from '../../src/platform/db.ts'
import { routerHello } from '../edge/routers.ts'
import type { GatewayHarness } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import type { TestCall, TestPeer } from './protocol-suite.ts'

/** The peer, with its connection for a test that sends its own frames. */
export interface RouterPeer extends TestPeer {
  readonly socket: WebSocket
}

interface Target {
  readonly port: number
  readonly mac: string
  readonly harness: GatewayHarness
}

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** Opens the connection of a router's agent; a claimed device registers first. */
export async function openRouterPeer({ port, mac: own, harness }: Target): Promise<RouterPeer> {
  await ensureRegistered(harness, own)
  const request = await checkSigningRequest(harness.ca, signingRequest(keys.privateKey))
  const { certificate, ca } = await request.sign(routerNameOf(own), harness.ctx.clock.now())
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, {
    ca,
    cert: certificate,
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    perMessageDeflate: false,
  })
  const closed = new Promise((resolve) => socket.on('close', resolve))
  onTestFinished(() => socket.terminate())
  const calls: TestCall[] = []
  socket.on('message', (data: Buffer) => {
    const frame = decodeFrame(data.toString('utf8'))
    if (frame.kind === 'call' && frame.id !== null) calls.push(callOf(socket, frame.id, JSON.stringify(frame)))
  })
  await once(socket, 'open')
  socket.on('error', () => socket.terminate())
  return {
    socket,
    closed,
    hello: () => socket.send(encodeCall(1, 'hello', routerHello(own))),
    nextCall: () => waitUntil('a call from the gateway', () => calls.shift() ?? null),
    adopt: ({ id, text }) => callOf(socket, id, text),
    drop: () => socket.terminate(),
  }
}

function callOf(socket: WebSocket, id: number, text: string): TestCall {
  const { params } = JSON.parse(text) as { params: { command_id: string } }
  const named = { command_id: params.command_id, boot_id: 'first-boot' }
  return {
    id,
    text,
    accept: () => socket.send(encodeResult(id, { ...named, repeated: false, text: 'done' })),
    refuse: (reason) => socket.send(encodeError(id, { code: 1, message: reason, data: named })),
  }
}

async function ensureRegistered({ ctx, orgId }: GatewayHarness, own: string): Promise<void> {
  const deviceId = deviceIdOf(own)
  const isRegistered = await ctx.db.selectFrom('routerKey').select('orgId').where('deviceId', '=', deviceId).execute()
  const isClaimed = await ctx.db.selectFrom('device').select('orgId').where('id', '=', deviceId).execute()
  if (isRegistered.length > 0 || isClaimed.length === 0) return
  const der = keys.publicKey.export({ type: 'spki', format: 'der' })
  const keySha256 = createHash('sha256').update(der).digest('hex')
  const key = { deviceId, keySha256, at: ctx.clock.now() }
  await inTx(ctx, (tx) => insertRouterKey(tx, systemScope('gateway', orgId), key))
}
