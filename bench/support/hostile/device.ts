import { WebSocket } from 'ws'
import { decodeFrame, encodeNotification, encodeResult } from '../../../src/gateway/websockets/jsonrpc.ts'
import type { EnrolledDevice } from '../devices.ts'

export interface OpenedDevice {
  /** Resolves when the gateway has recorded the device and calls it for the first time; it may never do so. */
  readonly joined: Promise<void>
  /** Resolves with the code of the end. */
  readonly closed: Promise<number>
  send(frame: string | Uint8Array): void
  close(): void
}

export interface DeviceOptions {
  readonly port: number
  /** PEM text. */
  readonly ca: string
  readonly device: EnrolledDevice
  readonly localAddress?: string
  readonly signal?: AbortSignal
  readonly model?: string
}

/** Connects a device that sends its hello and answers every call. */
export function openDevice(options: DeviceOptions): OpenedDevice {
  const { port, ca, device, localAddress, signal, model = 'EAP101' } = options
  const { mac, certificatePem: cert, keyPem: key } = device
  const socket = new WebSocket(`wss://127.0.0.1:${port}/`, 'ucentral-broker', {
    ca,
    cert,
    key,
    perMessageDeflate: false,
    ...(localAddress !== undefined && { localAddress }),
  })
  const end = (): void => socket.terminate()
  signal?.addEventListener('abort', end, { once: true })
  const { promise: joined, resolve: join } = Promise.withResolvers<void>()
  const send: OpenedDevice['send'] = (frame) => socket.readyState === WebSocket.OPEN && socket.send(frame)
  socket.on('error', () => undefined)
  const capabilities = { compatible: model, model, platform: model.startsWith('EX') ? 'switch' : 'ap' }
  const hello = { serial: mac, uuid: 1, firmware: '1.0.0', capabilities }
  socket.on('open', () => send(encodeNotification('connect', hello)))
  socket.on('message', (data: Buffer) => {
    const frame = decodeFrame(data.toString('utf8'))
    if (frame.kind !== 'call' || frame.id === null) return
    send(encodeResult(frame.id, { serial: mac, uuid: 1, status: { error: 0, text: 'Success' } }))
    join()
  })
  const closed = new Promise<number>((resolve) =>
    socket.once('close', (code) => {
      signal?.removeEventListener('abort', end)
      resolve(code)
    }),
  )
  return { joined, closed, send, close: end }
}
