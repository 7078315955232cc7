import { deflateSync } from 'node:zlib'
import { parentPort, workerData } from 'node:worker_threads'
import { WebSocket } from 'ws'
import type { EnrolledDevice } from './devices.ts'

/**
 * Enrolled devices that send one kind of message, and reconnect immediately whenever they are closed. Devices of the
 * kinds `inflating` and `small` far exceed their allowance; those of `largest`, whose messages take the gateway the
 * longest to decode, stay just within it, so that they are never closed.
 */
export interface FlooderData {
  readonly port: number
  readonly ca: string
  readonly devices: readonly EnrolledDevice[]
  readonly kind: 'inflating' | 'small' | 'largest'
  /** The address of this machine that they connect from. */
  readonly localAddress?: string
}

/** The report that the worker sends on request of its parent. */
export interface FlooderReport {
  readonly connections: number
  readonly refused: number
  readonly framesSent: number
  /** Seconds from the first frame to the end of the session that ended first; null if none was closed. */
  readonly closedAfterS: number | null
  readonly closeCode: number | null
}

const TICK_MS = 20
const { port, ca, devices, kind, localAddress } = workerData as FlooderData

const frameOf = (method: string, params: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params })
const helloOf = (serial: string): string =>
  frameOf('connect', {
    serial,
    uuid: 1,
    firmware: '1.0.0',
    capabilities: { compatible: 'EAP101', model: 'EAP101', platform: 'ap' },
  })

/** The gateway reads at most 20,000 values per message, and counts an object of a list as two. */
const LARGEST_LISTS = 9000
const LARGEST_OBJECTS = 5450

interface Flood {
  readonly perS: number
  readonly frameOf: (serial: string) => string
}

const floods: Readonly<Record<FlooderData['kind'], Flood>> = {
  inflating: { perS: 50, frameOf: () => packed(objects(690_000)) },
  small: { perS: 1000, frameOf: (serial) => frameOf('healthcheck', { serial, sanity: 100 }) },
  largest: {
    perS: 1,
    frameOf(serial) {
      const nested = '['.repeat(LARGEST_LISTS) + ']'.repeat(LARGEST_LISTS)
      return packed(`{"serial":"${serial}","state":{"nested":${nested},"many":${objects(LARGEST_OBJECTS)}}}`)
    },
  },
}

function objects(count: number): string {
  return `[${'{},'.repeat(count - 1)}{}]`
}

function packed(paramsJson: string): string {
  return frameOf('state', { compress_64: deflateSync(paramsJson).toString('base64') })
}

const report = { connections: 0, refused: 0, framesSent: 0, closedAfterS: null, closeCode: null } as {
  -readonly [K in keyof FlooderReport]: FlooderReport[K]
}

async function connectAndFlood({ mac, certificatePem, keyPem }: EnrolledDevice, frame: string): Promise<void> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, {
    ca,
    cert: certificatePem,
    key: keyPem,
    perMessageDeflate: false,
    ...(localAddress !== undefined && { localAddress }),
  })
  let timer: NodeJS.Timeout | undefined
  let startedMs: number | null = null
  const { perS } = floods[kind]
  const intervalMs = Math.max(TICK_MS, 1000 / perS)
  socket.on('error', () => undefined)
  socket.on('open', () => {
    report.connections += 1
    startedMs ??= performance.now()
    socket.send(helloOf(mac))
    timer = setInterval(() => {
      for (let count = 0; count < (perS * intervalMs) / 1000; count += 1) {
        socket.send(frame)
        report.framesSent += 1
      }
    }, intervalMs)
  })
  const code = await new Promise<number>((resolve) => socket.on('close', resolve))
  clearInterval(timer)
  if (startedMs === null) report.refused += 1
  else if (report.closedAfterS === null) {
    report.closedAfterS = Math.round(performance.now() - startedMs) / 1000
    report.closeCode = code
  }
}

async function flood(device: EnrolledDevice): Promise<never> {
  const frame = floods[kind].frameOf(device.mac)
  for (;;) await connectAndFlood(device, frame)
}

parentPort?.on('message', () => parentPort?.postMessage(report))
await Promise.all(devices.map(flood))
