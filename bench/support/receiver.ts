import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * The customers' servers of the webhook benchmark, all in one process. It answers `/healthy/...` immediately and
 * records how long each event took to arrive; it answers `/other/...` until a command makes these requests hang.
 */
export interface ReceiverReport {
  readonly received: number
  /** Milliseconds since the commit of the event, for the events received since the last reset. */
  readonly healthyMs: readonly number[]
}

export type ReceiverCommand = 'hang' | 'answer' | 'reset' | 'report'

let hangs = false
let received = 0
let healthyMs: number[] = []

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    received += 1
    const isHealthy = request.url?.startsWith('/healthy') === true
    if (isHealthy) {
      const { events } = JSON.parse(Buffer.concat(parts).toString('utf8'))
      const now = Date.now()
      for (const { message } of events) healthyMs.push(now - Number(message))
    }
    if (isHealthy || !hangs) response.writeHead(200).end()
  })
})
server.keepAliveTimeout = 60_000

process.on('message', (command: ReceiverCommand) => {
  if (command === 'hang') hangs = true
  else if (command === 'answer') hangs = false
  else if (command === 'report') process.send?.({ received, healthyMs } satisfies ReceiverReport)
  else {
    received = 0
    healthyMs = []
  }
})
process.once('disconnect', () => process.exit(0))
process.once('SIGINT', () => process.exit(0))

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`receiver ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
