// Hostile devices send mutated frames over real connections; other devices, and the gateway itself, must not notice.
import fc from 'fast-check'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { callHomeSecretOf } from '../../../src/devices/call-home/secret.ts'
import { callHome } from '../../../src/simulator/junos/call-home.ts'
import { openJunosPeer } from '../../drivers/junos-peer.ts'
import type { TestPeer } from '../../drivers/link-suite.ts'
import { openRouterPeer } from '../../drivers/router-peer.ts'
import { newHostKey, testNetconf, untilSession } from '../../netconf/harness.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { type Codec, edge, junosReplies, router, ucentral } from './codecs.ts'
import { type GatewayHarness, type RunningGateway, createGatewayHarness, newMac, openDevice } from '../harness.ts'
import { mutatedFrameOf } from './mutations.ts'

const SESSIONS = 12
const FRAMES = 15
/** Far less than the frames would take if any part of each were stored, and far more than the collector leaves. */
const MAX_GROWTH_BYTES = 150 * 1024 * 1024

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

/** A session that sends the frames, and resolves once it has ended or the gateway has read them. */
type Attack = (gateway: RunningGateway, frames: readonly Buffer[]) => Promise<void>

async function claimed(): Promise<string> {
  const mac = newMac()
  await harness.claim(mac, 'switch')
  return mac
}

const attackUcentral: Attack = async (gateway, frames) => {
  const mac = await claimed()
  const device = await openDevice(gateway.port, harness.ca, { mac })
  device.hello()
  await untilSession(harness, mac)
  for (const frame of frames) device.socket.send(frame.toString('utf8'))
  await untilRead(device.socket)
}

const attackEdge: Attack = async (gateway, frames) => {
  const mac = await claimed()
  const peer = await openRouterPeer({ port: gateway.portOf('edge'), mac, harness })
  peer.hello()
  await untilSession(harness, mac)
  for (const frame of frames) peer.socket.send(frame.toString('utf8'))
  await untilRead(peer.socket)
}

/** The gateway answers a ping after the frames before it, if it has not closed the connection. */
async function untilRead(socket: Awaited<ReturnType<typeof openDevice>>['socket']): Promise<void> {
  const ended = Promise.withResolvers<void>()
  socket.once('pong', () => ended.resolve())
  socket.once('close', () => ended.resolve())
  if (socket.readyState !== socket.OPEN) return
  socket.ping()
  await ended.promise
}

/** The first replies are those to the questions when it connects; the device then takes a command. */
const attackJunos: Attack = async (gateway, frames) => {
  const { ctx, orgId } = harness
  const replies = [...frames]
  const call = callHome({
    host: '127.0.0.1',
    port: gateway.portOf('junos'),
    hostKey,
    outboundSsh: { deviceId: orgId, secret: callHomeSecretOf(ctx, { orgId, generation: 0 }) },
    onRpc: () => Promise.resolve(replies.shift()?.toString('utf8') ?? null),
  })
  onTestFinished(() => call.end())
  await Promise.race([call.closed, waitUntil('all replies to be read', () => replies.length === 0)])
  call.end()
}
const hostKey = newHostKey()

const openUcentral = async (gateway: RunningGateway, mac: string): Promise<Pick<TestPeer, 'hello' | 'nextCall'>> => {
  const device = await openDevice(gateway.port, harness.ca, { mac })
  const nextCall = async () => {
    const { id } = await device.nextCall()
    const reply = (error: number): void => device.reply(id, { error, text: '' })
    return { id, text: '', accept: () => reply(0), refuse: () => reply(2) }
  }
  return { hello: () => device.hello(), nextCall }
}

test.each<
  [string, Codec, Attack, (gateway: RunningGateway, mac: string) => Promise<Pick<TestPeer, 'hello' | 'nextCall'>>]
>([
  ['uCentral devices', ucentral, attackUcentral, openUcentral],
  [
    'agents',
    { ...router, frames: [...router.frames, ...edge.frames] },
    attackEdge,
    (gateway, mac) => openRouterPeer({ port: gateway.portOf('edge'), mac, harness }),
  ],
  [
    'Junos devices',
    { ...junosReplies, frames: junosReplies.frames.map(withoutReply) },
    attackJunos,
    (gateway, mac) => openJunosPeer({ port: gateway.portOf('junos'), mac, harness, hostKey: newHostKey() }),
  ],
])('hostile %s end their own sessions at most', { timeout: 120_000 }, async (_name, codec, attack, open) => {
  const gateway = await harness.start({ protocols: [testNetconf(harness.ctx)] })
  const bystander = await claimed()
  const peer = await open(gateway, bystander)
  peer.hello()
  await untilSession(harness, bystander)
  const before = process.memoryUsage()
  const sessions = fc.array(mutatedFrameOf(codec), { minLength: FRAMES, maxLength: FRAMES })
  for (const frames of fc.sample(sessions, { seed: 20_261_122, numRuns: SESSIONS })) await attack(gateway, frames)
  const id = await harness.queue(bystander, { kind: 'restart', params: {} })
  ;(await peer.nextCall()).accept()
  await harness.untilCommand(id, 'done')
  const { message_failed, sessions: _, ...refused } = gateway.counters.read()
  // The gateway has read the frames, and refused some.
  expect(Object.values(refused).reduce((sum, count) => sum + count)).toBeGreaterThan(SESSIONS / 2)
  // An error that no refusal of a codec explains, or a row that the database refuses.
  expect(message_failed).toBe(0)
  const after = process.memoryUsage()
  expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(MAX_GROWTH_BYTES)
})

/** Returns the content of a reply: the peer wraps it, with the id of the request. */
function withoutReply(reply: Buffer): Buffer {
  return Buffer.from(reply.toString('utf8').replace(/^<rpc-reply[^>]*>|<\/rpc-reply>$/g, ''))
}
