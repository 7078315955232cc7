import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { waitUntil } from '../../../support/wait-until.ts'
import { startSlowServer } from './slow-server.ts'

it('lets another read begin if the first one of an unknown size was given up', async () => {
  const { port, call, inWork, release } = await startSlowServer()
  const account = randomUUID()
  const first = connect(port, '127.0.0.1')
  first.write(`GET /api/v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${account}\r\n\r\n`)
  await inWork(1)
  const second = call(account, '/slow')
  expect((await call(account, '/quick')).status).toBe(200)
  await inWork(1)
  await once(first.destroy(), 'close')
  release()
  await inWork(1)
  release()
  expect((await second).status).toBe(200)
})

it('counts no client that left while it waited for the size of an answer', async () => {
  const { port, call, received, inWork, work, release, releaseUntil } = await startSlowServer()
  const [account, other] = [randomUUID(), randomUUID()]
  expect((await call(other, '/quick')).status).toBe(200)
  const first = call(account, '/slow')
  await inWork(1)
  const leaving = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
  for (const socket of leaving)
    socket.write(`GET /api/v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${account}\r\n\r\n`)
  await received(22)
  for (const socket of leaving) await once(socket.destroy(), 'close')
  // With twenty more of this cost the account would be heavy, and its next reads would take turns.
  work(80)
  release()
  expect((await first).status).toBe(200)
  const reads = Array.from({ length: 5 }, () => call(account, '/slow'))
  await inWork(5)
  await releaseUntil(Promise.all(reads))
})

it('counts a request whose client has left until its operation has ended', async () => {
  const { port, call, inWork, release, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  for (const account of [busy, other]) expect((await call(account, '/quick')).status).toBe(200)
  expect((await releaseUntil(call(busy, '/slow', '{}'))).status).toBe(200)
  const head = `POST /api/v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${busy}\r\nContent-Type: application/json\r\n`
  const clients = Array.from({ length: 4 }, () => connect(port, '127.0.0.1'))
  for (const socket of clients) socket.write(`${head}Content-Length: 2\r\n\r\n{}`)
  await inWork(4)
  await Promise.all(clients.map((socket) => once(socket.destroy(), 'close')))
  const change = call(busy, '/slow', '{}')
  for (const account of [busy, other]) expect((await call(account, '/quick')).status).toBe(200)
  await inWork(4)
  release()
  await inWork(1)
  expect((await releaseUntil(change)).status).toBe(200)
})

it.each([
  ['form', '/form', 'multipart/form-data; boundary=x', '--x\r\ncontent-disposition: form-data; name="fi'],
  ['file', '/stored', 'application/octet-stream', 'a'],
])('counts an upload of a %s no more if its client leaves before it is read', async (_what, path, type, beginning) => {
  const { port, call, inWork, release } = await startSlowServer()
  const account = randomUUID()
  const head = `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${account}\r\n`
  const upload = (): Socket => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head}Content-Type: ${type}\r\nContent-Length: 100\r\n\r\n${beginning}`)
    return socket
  }
  expect((await call(account, '/quick')).status).toBe(200)
  const first = upload()
  await inWork(1)
  await once(first.destroy(), 'close')
  for (let turns = 0; turns < 100; turns += 1) await setImmediate()
  release()
  // The second one of its kind begins when the first one has ended.
  const second = upload()
  await inWork(1)
  second.destroy()
})

it('counts clients that have left until their checks and operations have ended, and begins none after that', async () => {
  const { port, call, arrived, inWork, holdChecks, begun, release, releaseUntil } = await startSlowServer()
  const busy = randomUUID()
  expect((await releaseUntil(call(busy, '/slow'))).status).toBe(200)
  const leave = async (isInWork: () => Promise<unknown>) => {
    const clients = Array.from({ length: 40 }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET /api/v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${busy}\r\n\r\n`)
      return socket
    })
    await isInWork()
    await Promise.all(clients.map((socket) => once(socket.destroy(), 'close')))
  }
  const isServed = () => waitUntil('a request is served', async () => (await call(busy, '/quick')).status === 200)

  await leave(() => arrived(41))
  // Their operations go on.
  expect((await call(busy, '/quick')).status).toBe(429)
  release()
  await isServed()

  const before = begun()
  const checked = holdChecks()
  await leave(() => waitUntil('all are checked', () => Promise.resolve(begun() === before + 40)))
  for (let turns = 0; turns < 100; turns += 1) await setImmediate()
  // The checks go on.
  expect((await call(busy, '/quick')).status).toBe(429)
  checked()
  await isServed()
  // No operation begins for a client that has left.
  await inWork(0)
})

it('counts no request of a connection that is closed, though its client sent many before it had an answer', async () => {
  const { port, call, releaseUntil } = await startSlowServer()
  const busy = randomUUID()
  const answersQuick = (status: number) =>
    waitUntil(`an answer ${status}`, async () => (await call(busy, '/quick')).status === status)
  await answersQuick(200)
  const client = connect(port, '127.0.0.1')
  client.write(`GET /api/v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${busy}\r\n\r\n`.repeat(40))
  await answersQuick(429)
  await once(client.destroy(), 'close')
  await releaseUntil(answersQuick(200))
  // The place of the first request, which has ended in any case, is not enough for two.
  const download = await call(busy, '/download')
  expect((await call(busy, '/quick')).status).toBe(200)
  await download.body?.cancel()
})

it('stops only after the operations and the checks of clients that have left', async () => {
  const { port, call, inWork, arrived, holdChecks, release, close } = await startSlowServer()
  const [account, other] = [randomUUID(), randomUUID()]
  expect((await call(account, '/quick')).status).toBe(200)
  const leave = async (as: string, isInWork: () => Promise<unknown>) => {
    const client = connect(port, '127.0.0.1')
    client.write(`GET /api/v1/slow HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${as}\r\n\r\n`)
    await isInWork()
    await once(client.destroy(), 'close')
  }
  await leave(account, () => inWork(1))
  const checked = holdChecks()
  await leave(other, () => arrived(3))
  const ends: string[] = []
  const stopped = close().then(() => ends.push('stop'))
  const turns = async () => {
    for (let count = 0; count < 100; count += 1) await setImmediate()
  }
  await turns()
  ends.push('operation')
  release()
  await turns()
  ends.push('check')
  checked()
  await stopped
  expect(ends).toEqual(['operation', 'check', 'stop'])
})
