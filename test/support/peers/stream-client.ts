import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { AnyJson } from '../contract/any-json.ts'
import { waitUntil } from '../wait-until.ts'

/** A client of the live stream. */
export interface StreamClient {
  readonly socket: WebSocket
  /** Everything that it received and no call of `next` has returned. */
  readonly received: AnyJson[]
  send(message: unknown): void
  /** Resolves with the first message that it has received and that matches, without those before it. */
  next(matches?: (message: AnyJson) => boolean): Promise<AnyJson>
  /** Subscribes, and resolves with the answer. */
  subscribe(channel: string, after?: number): Promise<AnyJson>
  /** Resolves with the code when the connection has ended. */
  readonly closed: Promise<number>
}

/** Opens the stream; with another answer than a connection it throws an Error that names the status. */
export async function openStream(url: string, headers: Record<string, string>): Promise<StreamClient> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api-ws/v1/stream`, { headers })
  onTestFinished(() => socket.terminate())
  const received: AnyJson[] = []
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString('utf8'))))
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await once(socket, 'open')
  // A server that ends the connection while messages are unread resets it. Without a listener, that would fail the whole run.
  socket.on('error', () => socket.terminate())
  const client: StreamClient = {
    socket,
    received,
    closed,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    next: (matches = () => true) =>
      waitUntil('a message of the stream', () => {
        const index = received.findIndex(matches)
        return index < 0 ? null : received.splice(0, index + 1).at(-1)
      }),
    async subscribe(channel, after) {
      client.send({ subscribe: channel, ...(after !== undefined && { after }) })
      return client.next(({ event, channel: name }) => event !== 'data' && name === channel)
    },
  }
  return client
}
