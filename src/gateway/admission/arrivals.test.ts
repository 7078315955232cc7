import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { countByTurn, openArriving } from '../../../test/support/peers/arriving.ts'
import { type Arrivals, createArrivals } from './arrivals.ts'

const patient = { upgradeMs: 1e9, answerMs: 1e9, silentMs: 1e9 }
/** Long enough that no test waits for it. */
const LOOK_MS = 1e6

async function createWorld(handshakes: number, connections: number) {
  const begun: Socket[] = []
  const arrivals = createArrivals({
    ...patient,
    admission: { perSecond: 1000, burst: 1000, handshakes, waitMs: 1e9 },
    now: () => 0,
    lookMs: LOOK_MS,
    beginTls: (socket) => void begun.push(socket),
    onRefused: (why) => expect.unreachable(why),
  })
  onTestFinished(() => arrivals.stop())
  return { arrivals, begun, sockets: await openArriving(connections) }
}

function addAll(arrivals: Arrivals, sockets: readonly Socket[]): void {
  for (const socket of sockets) arrivals.add(socket, '192.0.2.1')
}

test('at most 16 handshakes begin in a turn of the event loop', async () => {
  const { arrivals, begun, sockets } = await createWorld(200, 40)
  addAll(arrivals, sockets)
  expect(begun).toHaveLength(16)
  expect(await countByTurn(begun, 3)).toEqual([16, 8, 0])
  expect(begun).toEqual(sockets)
})

test('handshakes that end together make room for as many, which begin in later turns', async () => {
  const { arrivals, begun, sockets } = await createWorld(80, 80)
  addAll(arrivals, sockets)
  await countByTurn(begun, 6)
  // A network gets a place only while it has fewer than are still free.
  expect(begun).toHaveLength(40)
  for (const socket of begun.slice()) arrivals.shakenHands(socket)
  expect(begun).toHaveLength(56)
  expect(await countByTurn(begun, 3)).toEqual([16, 8, 0])
})

test('a connection that has become a session is left to it', async () => {
  const { arrivals, sockets } = await createWorld(200, 1)
  const [socket] = sockets
  if (socket === undefined) expect.unreachable()
  const before = socket.listenerCount('close')
  arrivals.add(socket, '192.0.2.1')
  arrivals.shakenHands(socket)
  expect(arrivals.checkInTime(socket)).toBe(true)
  arrivals.remove(socket)
  expect(socket.listenerCount('close')).toBe(before)
  arrivals.stop()
  expect(socket.destroyed).toBe(false)
})
