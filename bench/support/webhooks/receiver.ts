import { type AddressInfo, type Socket, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { selfSigned } from '../../../test/webhooks/self-signed.ts'

/**
 * The customers' servers of the webhook benchmark, all in one process. It answers `/healthy/...` immediately and
 * records how long each event took to arrive; it answers `/other/...` until a command makes these requests hang. With `--tls`
 * it has a certificate that nobody has issued.
 *
 * It reads requests by itself: those of `node:http` take twice as long, and the figures of the engine include the receiver.
 */
export interface ReceiverReport {
  readonly received: number
  /** The events in what `/healthy/...` and `/other/...` received. */
  readonly events: number
  /** Milliseconds since the commit of the event, for the events received since the last reset. */
  readonly healthyMs: readonly number[]
}

export type ReceiverCommand = 'hang' | 'answer' | 'reset' | 'report'

let hangs = false
let received = 0
let events = 0
let healthyMs: number[] = []

interface Message {
  readonly events: readonly { readonly message: string }[]
}

/** @returns False if the request is to hang. */
function receive(path: string, body: string): boolean {
  received += 1
  const isHealthy = path.startsWith('/healthy')
  const { events: ofMessage } = JSON.parse(body) as Message
  events += ofMessage.length
  const now = Date.now()
  if (isHealthy) for (const { message } of ofMessage) healthyMs.push(now - Number(message))
  return isHealthy || !hangs
}

const KEEP_ALIVE_S = 60
let answer = Buffer.alloc(0)
let answerS = 0

/** The answer of the present second: it has the headers that servers usually send. */
function answerNow(): Buffer {
  const now = Date.now()
  const second = Math.floor(now / 1000)
  if (second !== answerS) {
    const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_S}`
    answer = Buffer.from(
      `HTTP/1.1 200 OK\r\nDate: ${new Date(now).toUTCString()}\r\n${kept}\r\nContent-Length: 0\r\n\r\n`,
    )
    answerS = second
  }
  return answer
}

const REQUEST_LINE = /^POST (\S+) HTTP\/1\.1\r\n/
const LENGTH = /\r\ncontent-length: *(\d+)\r\n/i
const END_OF_HEAD = '\r\n\r\n'

interface Received {
  readonly path: string
  readonly body: string
  /** The number of bytes of the whole request. */
  readonly length: number
}

/**
 * @returns Null if more bytes are needed.
 * @throws Error unless it is a POST with a length.
 */
function parseRequest(bytes: Buffer): Received | null {
  const end = bytes.indexOf(END_OF_HEAD, 0, 'latin1')
  if (end < 0) return null
  const head = bytes.toString('latin1', 0, end + 2)
  const path = REQUEST_LINE.exec(head)?.[1]
  const bodyLength = LENGTH.exec(head)?.[1]
  if (path === undefined || bodyLength === undefined) throw new Error(`no request of a webhook: ${head}`)
  const start = end + END_OF_HEAD.length
  const length = start + Number(bodyLength)
  return length > bytes.length ? null : { path, body: bytes.toString('utf8', start, length), length }
}

function serve(socket: Socket): void {
  let waiting: Buffer | null = null
  socket.setNoDelay(true)
  // The engine closes connections without an orderly end when it is killed.
  socket.on('error', () => socket.destroy())
  socket.on('data', (part: Buffer) => {
    let bytes: Buffer = waiting === null ? part : Buffer.concat([waiting, part])
    for (let request = parseRequest(bytes); request !== null; request = parseRequest(bytes)) {
      bytes = bytes.subarray(request.length)
      if (receive(request.path, request.body)) socket.write(answerNow())
    }
    waiting = bytes.length === 0 ? null : bytes
  })
}

const isTls = process.argv.includes('--tls')
const server = isTls ? createTlsServer(await selfSigned('127.0.0.1'), serve) : createServer(serve)

process.on('message', (command: ReceiverCommand) => {
  if (command === 'hang') hangs = true
  else if (command === 'answer') hangs = false
  else if (command === 'report') process.send?.({ received, events, healthyMs } satisfies ReceiverReport)
  else {
    received = 0
    events = 0
    healthyMs = []
  }
})
process.once('disconnect', () => process.exit(0))
process.once('SIGINT', () => process.exit(0))

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`receiver ready http${isTls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
