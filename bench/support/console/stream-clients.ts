import { once } from 'node:events'
import { WebSocket } from 'ws'

/** The argument of the program, as JSON. */
export interface ClientsWork {
  readonly url: string
  /** Clients are distributed over several accounts, because the connections of one are limited. */
  readonly authorizations: readonly string[]
  readonly channels: readonly string[]
  readonly clients: number
}

export interface ClientsReport {
  /** For each message: the index of the change, and its arrival in epoch milliseconds. */
  readonly received: readonly (readonly [change: number, atMs: number])[]
  readonly closed: number
}

/** The number of clients that connect at the same time. */
const AT_ONCE = 50
const NAME = Buffer.from('"name":"change ')

const work = JSON.parse(process.argv[2] ?? '') as ClientsWork
const received: [number, number][] = []
let closed = 0

for (let first = 0; first < work.clients; first += AT_ONCE) {
  const some = Array.from({ length: Math.min(AT_ONCE, work.clients - first) }, (_, place) => first + place)
  await Promise.all(some.map(connect))
}
process.on('message', () => {
  const report: ClientsReport = { received: received.splice(0), closed }
  process.send?.(report)
})
process.once('disconnect', () => process.exit(0))
process.once('SIGINT', () => process.exit(0))
console.log('clients ready')

/** Subscribes a client to one of the channels. */
async function connect(place: number): Promise<void> {
  const { url, authorizations, channels } = work
  const authorization = authorizations[place % authorizations.length] ?? ''
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api-ws/v1/stream`, {
    headers: { authorization },
    perMessageDeflate: false,
  })
  await once(socket, 'open')
  socket.send(JSON.stringify({ subscribe: channels[place % channels.length] }))
  const [answer] = (await once(socket, 'message')) as [Buffer]
  if (!answer.includes('channel_subscribed')) throw new Error(answer.toString('utf8'))
  socket.on('message', (data: Buffer) => {
    const at = data.indexOf(NAME)
    // Parsing whole messages would take most of the processor time of this program.
    if (at >= 0)
      received.push([Number.parseInt(data.toString('latin1', at + NAME.length, at + NAME.length + 10), 10), Date.now()])
  })
  socket.on('close', () => (closed += 1))
}
