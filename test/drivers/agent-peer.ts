import { type KeyPairKeyObjectResult, createHash } from 'node:crypto'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { signingRequest } from '../../src/agent/signing-request.ts'
import { decodeFrame, encodeCall, encodeError, encodeResult } from '../../src/gateway/websockets/jsonrpc.ts'
import { checkSigningRequest } from '../../src/gateway/certificates/sign-agent.ts'
import type { GatewayHarness } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import type { TestCall, TestPeer } from './link-suite.ts'

/** The peer, with its connection for a test that sends its own frames. */
export interface AgentPeer extends TestPeer {
  readonly socket: WebSocket
}

export interface AgentTarget {
  readonly port: number
  readonly harness: GatewayHarness
  /** The common name of its certificate. */
  readonly commonName: string
  readonly keys: KeyPairKeyObjectResult
  /** The params of its hello. */
  readonly greeting: object
}

/** Opens the connection of an agent of whatever role. */
export async function openAgentPeer({ port, harness, commonName, keys, greeting }: AgentTarget): Promise<AgentPeer> {
  const request = await checkSigningRequest(harness.ca, signingRequest(keys.privateKey))
  const { certificate, ca } = await request.sign(commonName, harness.ctx.clock.now())
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
    hello: () => socket.send(encodeCall(1, 'hello', { ...greeting })),
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

/** SHA-256 of a public key, in hex. */
export function keySha256Of({ publicKey }: KeyPairKeyObjectResult): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}
