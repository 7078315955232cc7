import { readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import ssh2 from 'ssh2'
import { WebSocket } from 'ws'
import { decideNext } from '../../../src/agent/decide-next.ts'
import {
  type Frame,
  decodeFrame,
  encodeCall,
  encodeNotification,
  encodeResult,
} from '../../../src/gateway/websockets/jsonrpc.ts'
import { answerRpc } from '../../../src/simulator/junos/answer-rpc.ts'
import { callHome } from '../../../src/simulator/junos/call-home.ts'
import { createJunosDevice } from '../../../src/simulator/junos/junos-device.ts'
import { reconnectDelayMs } from '../../../src/simulator/pace.ts'
import type { RegisteredAgent } from './agents.ts'
import type { EnrolledDevice } from '../devices.ts'
import { ANSWER_MS, type Arrival, type ClientsData } from './session-data.ts'

// Devices of one kind, in a separate process: they connect, execute commands, and reconnect as real ones do when they
// lose the gateway. The first argument is a file with ClientsData. Each message of the parent is answered with all
// arrivals.

const STARTS_PER_S = 100
const STATE_MS = 60_000
const HANDSHAKE_MS = 30_000
/** A Junos device tries again after its configured pause, which is not chosen so that all try together. */
const JUNOS_PAUSE_MS = 5000

/** Real devices have processors of their own, so these must not delay the server on the one that they share. */
setPriority(constants.priority.PRIORITY_LOW)

const data = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as ClientsData
const arrivals: Arrival[] = []

function arrive(device: string, id: string | null): void {
  arrivals.push({ device, id, atMs: Date.now() })
}

interface Socket {
  readonly socket: WebSocket
  readonly send: (text: string) => void
  readonly onFrame: (handle: (frame: Frame) => void) => void
  readonly closed: Promise<number>
}

function open(protocol: string[], identity: { ca: string; cert: string; key: string }): Socket {
  const socket = new WebSocket(`wss://127.0.0.1:${data.port}/`, protocol, {
    ...identity,
    perMessageDeflate: false,
    handshakeTimeout: HANDSHAKE_MS,
  })
  socket.on('error', () => undefined)
  return {
    socket,
    send: (text) => socket.readyState === WebSocket.OPEN && socket.send(text),
    onFrame: (handle) => socket.on('message', (bytes: Buffer) => handle(decodeFrame(bytes.toString('utf8')))),
    closed: new Promise((resolve) => socket.once('close', resolve)),
  }
}

function stateOf(serial: string): string {
  const unit = { uptime: Math.round(performance.now() / 1000), load: [0.1, 0.1, 0.1], localtime: Date.now() / 1000 }
  return encodeNotification('state', { serial, uuid: 1, state: { unit } })
}

async function runAccessPoint({ mac, certificatePem, keyPem }: EnrolledDevice, ca: string): Promise<never> {
  const capabilities = { compatible: 'EAP101', model: 'EAP101', platform: 'ap' }
  const hello = encodeNotification('connect', { serial: mac, uuid: 1, firmware: '1.0.0', capabilities })
  for (let failures = 0; ;) {
    const { socket, send, onFrame, closed } = open(['ucentral-broker'], { ca, cert: certificatePem, key: keyPem })
    let reporting: NodeJS.Timeout | undefined
    socket.on('open', () => send(hello))
    onFrame((frame) => {
      if (frame.kind !== 'call' || frame.id === null) return
      failures = 0
      const { id, method } = frame
      if (method === 'telemetry') {
        clearInterval(reporting)
        reporting = setInterval(() => send(stateOf(mac)), STATE_MS)
        send(stateOf(mac))
      }
      if (method === 'leds') arrive(mac, String(id))
      const answer = encodeResult(id, { serial: mac, uuid: 1, status: { error: 0, text: 'Success' } })
      setTimeout(() => send(answer), method === 'leds' ? ANSWER_MS : 0)
    })
    await closed
    clearInterval(reporting)
    failures += 1
    await delay(reconnectDelayMs('ap', failures, 1))
  }
}

const HELLO_ID = 1
const report = {
  uptime_s: 1000,
  services: [{ name: 'tunterm', version: '1.0.0', state: 'running' }],
  cpu_percent: 10,
  memory: { total: 8e9, free: 6e9 },
  disk: { total: 1e11, free: 5e10 },
  addresses: ['192.0.2.7'],
}

async function runEdgeAgent({ id: mxedgeId, certificate, key, ca }: RegisteredAgent): Promise<void> {
  const facts = { agent: '0.1.0', boot_id: mxedgeId, model: 'ME-VM', serial: mxedgeId, distro: 'bookworm' }
  const methods = ['service.control', 'port.bounce', 'aps.disconnect', 'configure']
  const hello = encodeCall(HELLO_ID, 'hello', { ...facts, methods, config_sha256: null, report })
  /** The ids of the commands that it has executed, and the answers that the gateway may not have. */
  const executed = new Set<string>()
  const unsent: string[] = []
  for (let failures = 0; ;) {
    const { socket, send, onFrame, closed } = open([], { ca, cert: certificate, key })
    let wasWelcome = false
    const answer = (text: string): void => {
      if (socket.readyState === WebSocket.OPEN) send(text)
      else unsent.push(text)
    }
    socket.on('open', () => send(hello))
    onFrame((frame) => {
      if (frame.kind === 'reply' && frame.id === HELLO_ID) {
        wasWelcome = true
        for (const text of unsent.splice(0)) send(text)
      }
      if (frame.kind !== 'call' || frame.id === null) return
      const commandId = String(frame.params['command_id'])
      const repeated = executed.has(commandId)
      if (!repeated && frame.method !== 'configure') arrive(mxedgeId, commandId)
      executed.add(commandId)
      const result = { command_id: commandId, boot_id: mxedgeId, repeated, text: 'done' }
      setTimeout(() => answer(encodeResult(Number(frame.id), result)), ANSWER_MS)
    })
    const reporting = setInterval(() => wasWelcome && send(encodeNotification('report', report)), STATE_MS)
    const code = await closed
    clearInterval(reporting)
    failures = wasWelcome ? 0 : failures + 1
    const next = decideNext(code, failures, Math.random())
    if (next.kind === 'stop') return
    await delay(next.ms)
  }
}

/** The library makes a key that it can't read for one of some hundred. */
function newHostKey(): string {
  for (;;) {
    const { private: key } = ssh2.utils.generateKeyPairSync('ed25519')
    if (!(ssh2.utils.parseKey(key) instanceof Error)) return key
  }
}

async function runJunos(mac: string, { orgId, secret }: { orgId: string; secret: string }): Promise<never> {
  const device = createJunosDevice({ mac, model: 'ex4100-48p', nowMs: Date.now() })
  const hostKey = newHostKey()
  const download = (): Promise<never> => Promise.reject(new Error('it downloads nothing'))
  for (;;) {
    const { closed } = callHome({
      host: '127.0.0.1',
      port: data.port,
      hostKey,
      outboundSsh: { deviceId: orgId, secret },
      async onRpc(rpc) {
        const isCommand = rpc.name === 'request-snapshot'
        if (isCommand) arrive(mac, null)
        const { body } = await answerRpc(device, rpc, { nowMs: Date.now(), download })
        if (isCommand) await delay(ANSWER_MS)
        return body
      },
    })
    await closed
    await delay(JUNOS_PAUSE_MS * (1 + Math.random()))
  }
}

function* runs(): Generator<() => Promise<void>> {
  if (data.kind === 'ucentral') for (const device of data.devices) yield () => runAccessPoint(device, data.ca)
  else if (data.kind === 'agents') for (const device of data.devices) yield () => runEdgeAgent(device)
  else for (const { mac } of data.devices) yield () => runJunos(mac, data)
}

process.on('message', () => process.send?.(arrivals))
process.once('disconnect', () => process.exit(0))
process.once('SIGINT', () => process.exit(0))
process.stdout.write('clients ready\n')
for (const run of runs()) {
  // A device that fails here is a defect of the benchmark, which ends with it.
  void run()
  await delay(1000 / STARTS_PER_S)
}
