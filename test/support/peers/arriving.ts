import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** Returns a server's unread sockets of open connections. They are closed with the test. */
export async function openArriving(count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket)
    onTestFinished(() => void socket.destroy())
    if (sockets.length === count) resolve()
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  for (let index = 0; index < count; index += 1) {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => void client.destroy())
  }
  await promise
  return sockets
}

/** Runs turns of the event loop, and returns by how many entries the list grew in each. */
export async function countByTurn(list: readonly unknown[], turns: number): Promise<number[]> {
  const counts: number[] = []
  for (let turn = 0; turn < turns; turn += 1) {
    const before = list.length
    await nextTurn()
    counts.push(list.length - before)
  }
  return counts
}
