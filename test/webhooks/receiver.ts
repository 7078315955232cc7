import { createHmac } from 'node:crypto'
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { waitUntil } from '../support/wait-until.ts'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly raw: Buffer
  readonly topic: string
  readonly events: readonly Record<string, unknown>[]
}

export type Reply = (request: IncomingMessage, response: ServerResponse, received: Received) => void

export interface Receiver {
  readonly url: string
  readonly port: number
  /** Everything that arrived, in order, whatever the receiver answered. */
  readonly received: Received[]
  /** Sets the answer from now on; initially 200 without a body. */
  answer(reply: Reply): void
  /** Waits until at least `count` messages have arrived. */
  waitFor(count: number): Promise<readonly Received[]>
  /** Ends immediately and closes all connections. */
  kill(): Promise<void>
}

const ok: Reply = (_request, response) => {
  response.writeHead(200).end()
}

/** Starts a customer's server on loopback. */
export async function startReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let reply = ok
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const raw = Buffer.concat(parts)
      const { topic, events } = JSON.parse(raw.toString('utf8'))
      const message = { path: request.url ?? '', headers: request.headers, raw, topic, events }
      received.push(message)
      reply(request, response, message)
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    port: address.port,
    received,
    answer(next) {
      reply = next
    },
    waitFor: (count) => waitUntil(`${count} messages`, () => (received.length >= count ? received : null)),
    async kill() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
}

export function status(code: number, headers: Record<string, string> = {}): Reply {
  return (_request, response) => {
    response.writeHead(code, headers).end()
  }
}

/** Verifies the signatures of a message as its receiver would, from the raw bytes. Returns which of them are valid. */
export function signaturesOf({ headers, raw }: Received, secret: string) {
  const hmac = (algorithm: string, ...parts: (string | Buffer)[]) => {
    const mac = createHmac(algorithm, secret)
    for (const part of parts) mac.update(part)
    return mac
  }
  const [id, timestamp] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])]
  return {
    v2: headers['x-mist-signature-v2'] === hmac('sha256', raw).digest('hex'),
    v1: headers['x-mist-signature'] === hmac('sha1', raw).digest('hex'),
    standard: headers['webhook-signature'] === `v1,${hmac('sha256', `${id}.${timestamp}.`, raw).digest('base64')}`,
  }
}

export const allValid = { v2: true, v1: true, standard: true }

/** Leaves requests without an answer. @returns Their responses, also those of requests that come later. */
export function holdAnswers(receiver: Receiver): ServerResponse[] {
  const held: ServerResponse[] = []
  receiver.answer((_request, response) => void held.push(response))
  return held
}

/** Answers the requests that were held. */
export function releaseAnswers(held: readonly ServerResponse[]): void {
  for (const response of held) response.writeHead(200).end()
}

/** Answers what is held whenever the receiver has got as many requests in all as the next of the counts says. */
export async function answerAfter(
  receiver: Pick<Receiver, 'waitFor'>,
  held: ServerResponse[],
  counts: readonly number[],
): Promise<void> {
  for (const count of counts) {
    await receiver.waitFor(count)
    releaseAnswers(held.splice(0))
  }
}
