import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { countByTurn, openArriving } from '../../../test/support/peers/arriving.ts'
import { createCallers } from './callers.ts'

const patient = { preambleMs: 1e9, helloMs: 1e9, silentMs: 1e9, lookMs: 1e6 }

async function createWorld(handshakes: number, connections: number) {
  const begun: Socket[] = []
  const callers = createCallers({
    ...patient,
    admission: { perSecond: 1000, burst: 1000, handshakes, waitMs: 1e9 },
    now: () => 0,
    begin: (socket) => void begun.push(socket),
    onRefused: (why) => expect.unreachable(why),
  })
  onTestFinished(() => callers.stop())
  const sockets = await openArriving(connections)
  for (const socket of sockets) callers.add(socket, '192.0.2.1')
  return { callers, begun, sockets }
}

test('at most 16 handshakes begin in a turn of the event loop, in the order of the connections', async () => {
  const { begun, sockets } = await createWorld(200, 40)
  expect(begun).toHaveLength(16)
  expect(await countByTurn(begun, 3)).toEqual([16, 8, 0])
  expect(begun).toEqual(sockets)
})

test('devices that become links together make room for as many, which begin in later turns', async () => {
  const { callers, begun } = await createWorld(80, 80)
  await countByTurn(begun, 6)
  // A network gets a place only while it has fewer than are still free.
  expect(begun).toHaveLength(40)
  for (const socket of begun.slice()) callers.leave(socket)
  expect(begun).toHaveLength(56)
  expect(await countByTurn(begun, 3)).toEqual([16, 8, 0])
})

test('a device that has left while it waited takes no place, and none begins after the stop', async () => {
  const { callers, begun, sockets } = await createWorld(200, 40)
  callers.leave(sockets[16] as Socket)
  expect(await countByTurn(begun, 1)).toEqual([15])
  expect(begun).not.toContain(sockets[16])
  callers.stop()
  expect(await countByTurn(begun, 2)).toEqual([0, 0])
})
