import { deflateSync } from 'node:zlib'
import { parentPort, workerData } from 'node:worker_threads'
import { WebSocket } from 'ws'
import type { EnrolledDevice } from './devices.ts'

/**
 * An enrolled device that sends as much of one kind of message as it can, and reconnects immediately whenever it is
 * closed.
 */
export interface FlooderData {
  readonly port: number
  readonly ca: string
  readonly device: EnrolledDevice
  readonly kind: 'inflating' | 'small'
}

/** The report that the worker sends when its parent asks for it. */
export interface FlooderReport {
  readonly connections: number
  readonly refused: number
  readonly framesSent: number
  /** Seconds from the first frame to the end of the first session; null if it was not closed. */
  readonly closedAfterS: number | null
  readonly closeCode: number | null
}

const TICK_MS = 20
const { port, ca, device, kind } = workerData as FlooderData
const { mac } = device

const frameOf = (method: string, params: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params })
const hello = frameOf('connect', {
  serial: mac,
  uuid: 1,
  firmware: '1.0.0',
  capabilities: { compatible: 'EAP101', model: 'EAP101', platform: 'ap' },
})
const floods = {
  inflating: { perS: 50, frame: frameOf('state', { compress_64: packedObjects(690_000) }) },
  small: { perS: 1000, frame: frameOf('healthcheck', { serial: mac, sanity: 100 }) },
}

function packedObjects(count: number): string {
  return deflateSync(`[${'{},'.repeat(count - 1)}{}]`).toString('base64')
}

const report = { connections: 0, refused: 0, framesSent: 0, closedAfterS: null, closeCode: null } as {
  -readonly [K in keyof FlooderReport]: FlooderReport[K]
}

async function connectAndFlood(): Promise<void> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, {
    ca,
    cert: device.certificatePem,
    key: device.keyPem,
    perMessageDeflate: false,
  })
  let timer: NodeJS.Timeout | undefined
  let startedMs: number | null = null
  const { perS, frame } = floods[kind]
  socket.on('error', () => undefined)
  socket.on('open', () => {
    report.connections += 1
    startedMs ??= performance.now()
    socket.send(hello)
    timer = setInterval(() => {
      for (let count = 0; count < (perS * TICK_MS) / 1000; count += 1) {
        socket.send(frame)
        report.framesSent += 1
      }
    }, TICK_MS)
  })
  const code = await new Promise<number>((resolve) => socket.on('close', resolve))
  clearInterval(timer)
  if (startedMs === null) report.refused += 1
  else if (report.closedAfterS === null) {
    report.closedAfterS = Math.round(performance.now() - startedMs) / 1000
    report.closeCode = code
  }
}

parentPort?.on('message', () => parentPort?.postMessage(report))
for (;;) await connectAndFlood()
