import { type RequestListener, createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { selfSigned } from '../../test/webhooks/self-signed.ts'

/**
 * The customers' servers of the webhook benchmark, all in one process. It answers `/healthy/...` immediately and
 * records how long each event took to arrive; it answers `/other/...` until a command makes these requests hang. With `--tls`
 * it has a certificate that nobody has issued.
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

const receive: RequestListener = (request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    received += 1
    const isHealthy = request.url?.startsWith('/healthy') === true
    const { events: ofMessage } = JSON.parse(Buffer.concat(parts).toString('utf8'))
    events += ofMessage.length
    const now = Date.now()
    if (isHealthy) for (const { message } of ofMessage) healthyMs.push(now - Number(message))
    if (isHealthy || !hangs) response.writeHead(200).end()
  })
}

const isTls = process.argv.includes('--tls')
const server = isTls ? createTlsServer(await selfSigned('127.0.0.1'), receive) : createServer(receive)
server.keepAliveTimeout = 60_000

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
