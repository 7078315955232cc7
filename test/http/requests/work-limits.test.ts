import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { expect, it } from 'vitest'
import { startSlowServer } from './connections/slow-server.ts'

it('refuses what one account asks for beyond its requests in work, and serves others meanwhile', async () => {
  const { call, received, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  expect((await call(busy, '/quick')).status).toBe(200)
  const first = Array.from({ length: 40 }, () => call(busy, '/slow'))
  await received(41)
  const refused = await call(busy, '/quick')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toEqual({
    detail: 'Too Many Request. No more than 40 requests of an account at a time.',
  })
  expect((await call(other, '/quick')).status).toBe(200)
  const answers = await releaseUntil(Promise.all(first))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect((await call(busy, '/quick')).status).toBe(200)
})

it('refuses bodies of one account beyond 32 MiB in work', async () => {
  const { call, received, releaseUntil } = await startSlowServer()
  const busy = randomUUID()
  expect((await call(busy, '/quick')).status).toBe(200)
  const body = `{"text":"${'x'.repeat(1000 * 1024)}"}`
  const first = Array.from({ length: 32 }, () => call(busy, '/slow', body))
  await received(33)
  const refused = await call(busy, '/slow', body)
  expect(refused.status).toBe(429)
  expect(await refused.json()).toEqual({
    detail: 'Too Many Request. No more than 33554432 bytes in bodies of an account at a time.',
  })
  expect((await call(busy, '/quick')).status).toBe(200)
  await releaseUntil(Promise.all(first))
})

it('lets large requests of one account take turns, and nothing else wait for them', async () => {
  const { call, inWork, release, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  for (const path of ['/large', '/quick']) {
    const answer = await releaseUntil(call(busy, path))
    expect(answer.status).toBe(200)
    await answer.text()
  }
  const large = Array.from({ length: 3 }, () => call(busy, '/large').then((answer) => answer.text()))
  await inWork(1)
  expect((await call(busy, '/quick')).status).toBe(200)
  const others = call(other, '/large').then((answer) => answer.text())
  await inWork(2)
  expect((await call(busy, '/quick')).status).toBe(200)
  await inWork(2)
  release()
  await others
  await inWork(1)
  expect((await call(busy, '/quick')).status).toBe(200)
  await inWork(1)
  const texts = await releaseUntil(Promise.all(large))
  expect(texts.every((text) => text.length > 5 * 1024 * 1024)).toBe(true)
})

it('runs four changes of one account at a time, also small ones, and those of others meanwhile', async () => {
  const { call, inWork, release, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  for (const answer of [await releaseUntil(call(busy, '/slow', '{}')), await call(busy, '/quick')])
    expect(answer.status).toBe(200)
  const changes = Array.from({ length: 6 }, () => call(busy, '/slow', '{}'))
  await inWork(4)
  const others = call(other, '/slow', '{}')
  await inWork(5)
  expect((await call(busy, '/quick')).status).toBe(200)
  await inWork(5)
  release()
  await others
  await inWork(2)
  const answers = await releaseUntil(Promise.all(changes))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('handles eight reads of an account at a time while another one wants something, and checks their credentials in turn', async () => {
  const { call, inWork, begun, release, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  // The sizes of their answers are known, and the other one is there.
  for (const account of [busy, other])
    for (const path of ['/quick', '/slow']) expect((await releaseUntil(call(account, path))).status).toBe(200)
  const before = begun()
  const reads = Array.from({ length: 20 }, () => call(busy, '/slow'))
  await inWork(8)
  expect((await call(other, '/quick')).status).toBe(200)
  expect(begun()).toBe(before + 9)
  const others = Array.from({ length: 3 }, () => call(other, '/slow'))
  await inWork(11)
  release()
  await Promise.all(others)
  await inWork(8)
  const answers = await releaseUntil(Promise.all(reads))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('handles the requests of an account one by one if it uses more of the main thread than its share', async () => {
  const { call, inWork, work, release, releaseUntil } = await startSlowServer()
  const [light, heavy] = [randomUUID(), randomUUID()]
  // It pauses only after requests while another account is present.
  for (const account of [...Array<string>(30).fill(heavy), light]) {
    const slow = call(account, '/slow')
    await inWork(1)
    work(25)
    expect((await releaseUntil(slow)).status).toBe(200)
  }
  const reads = Array.from({ length: 5 }, () => call(heavy, '/slow'))
  await inWork(1)
  const others = Array.from({ length: 5 }, () => call(light, '/slow'))
  await inWork(6)
  release()
  await Promise.all(others)
  await inWork(1)
  const change = call(heavy, '/slow', '{}')
  expect((await call(light, '/quick')).status).toBe(200)
  await inWork(1)
  const answers = await releaseUntil(Promise.all([change, ...reads]))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('learns nothing about the answers of an operation from refused requests', async () => {
  const { call, inWork, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  const refuse = async (): Promise<void> => expect((await call(account, '/large?unknown=1')).status).toBe(400)
  const read = async (): Promise<number> => (await (await call(account, '/large')).text()).length
  expect((await call(account, '/quick')).status).toBe(200)
  await refuse()
  for (let times = 0; times < 2; times += 1) {
    const pages = Array.from({ length: 3 }, read)
    await inWork(1)
    expect((await call(account, '/quick')).status).toBe(200)
    await inWork(1)
    for (const length of await releaseUntil(Promise.all(pages))) expect(length).toBeGreaterThan(5 * 1024 * 1024)
    await refuse()
  }
})

it('lets reads with a body of another type take turns as well', async () => {
  const { port, call, inWork, received, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  for (const path of ['/quick', '/large']) await (await releaseUntil(call(account, path))).text()
  const sockets = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'))
  const head = `GET /api/v1/large HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${account}\r\nContent-Type: text/plain\r\n`
  for (const socket of sockets) socket.write(`${head}Content-Length: 1\r\n\r\na`)
  await received(5)
  await inWork(1)
  expect((await call(account, '/quick')).status).toBe(200)
  await inWork(1)
  for (const socket of sockets) socket.destroy()
})

it('knows the account of a caller however the same credentials are written', async () => {
  const { call, received, inWork, begun, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  expect((await call(account, '/quick')).status).toBe(200)
  const reads = ['', ' ', '  ', '\t'].map((spaces) => call(`${spaces}${account}`, '/slow'))
  await received(5)
  await inWork(1)
  expect((await call(account, '/quick')).status).toBe(200)
  expect(begun()).toBe(3)
  await releaseUntil(Promise.all(reads))
})

it('reads one answer of an unknown size at a time until its size is known', async () => {
  const { call, inWork, release, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  const reads = Array.from({ length: 5 }, () => call(account, '/slow'))
  await inWork(1)
  expect((await call(account, '/quick')).status).toBe(200)
  await inWork(1)
  release()
  await inWork(4)
  const answers = await releaseUntil(Promise.all(reads))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('checks the credentials of one request of an unknown cost at a time, and those of other operations meanwhile', async () => {
  const { call, received, inWork, begun, release, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  expect((await call(account, '/quick')).status).toBe(200)
  const requests = [undefined, '{}'].flatMap((body) => Array.from({ length: 5 }, () => call(account, '/slow', body)))
  await received(11)
  await inWork(2)
  expect((await call(account, '/quick')).status).toBe(200)
  expect(begun()).toBe(4)
  release()
  await inWork(8)
  const answers = await releaseUntil(Promise.all(requests))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('begins two uploads of an account at a time while another one wants something', async () => {
  const { call, upload, received, inWork, begun, release, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  expect((await releaseUntil(upload(busy))).status).toBe(200)
  expect((await call(other, '/quick')).status).toBe(200)
  const uploads = Array.from({ length: 5 }, () => upload(busy))
  await received(7)
  await inWork(2)
  expect((await call(other, '/quick')).status).toBe(200)
  expect((await call(busy, '/quick')).status).toBe(200)
  expect(begun()).toBe(6)
  release()
  await inWork(2)
  const answers = await releaseUntil(Promise.all(uploads))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('lets reads wait for a moment only if the first one is slow', async () => {
  const { call, inWork, release, releaseUntil } = await startSlowServer({ firstMs: 1 })
  const account = randomUUID()
  const reads = Array.from({ length: 6 }, () => call(account, '/slow'))
  // Answers of an unknown size count as a megabyte each.
  await inWork(4)
  release()
  const answers = await releaseUntil(Promise.all(reads))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('lets large requests that wait for others of their account occupy no place', async () => {
  const { call, inWork, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  for (const account of [busy, other])
    for (const path of ['/quick', '/slow', '/large']) {
      const answer = await releaseUntil(call(account, path))
      await answer.text()
    }
  const large = Array.from({ length: 12 }, () => call(busy, '/large').then((answer) => answer.text()))
  await inWork(1)
  const small = call(busy, '/slow')
  await inWork(2)
  await releaseUntil(Promise.all([small, ...large]))
})

it('lets an upload wait for its turn for longer than a body may take', async () => {
  const { port, call, upload, received, inWork, release, releaseUntil } = await startSlowServer({ bodyMs: 50 })
  const [busy, other] = [randomUUID(), randomUUID()]
  expect((await releaseUntil(upload(busy))).status).toBe(200)
  expect((await call(other, '/quick')).status).toBe(200)
  const uploads = [upload(busy), upload(busy)]
  await inWork(2)
  const begin = (account: string, path: string, type: string): Socket => {
    const socket = connect(port, '127.0.0.1')
    const head = `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${account}\r\nContent-Type: ${type}\r\n`
    socket.write(`${head}Content-Length: 2\r\n\r\n{`)
    return socket
  }
  const waiting = begin(busy, '/stored', 'application/octet-stream')
  await received(5)
  // The time of a later body that does not end is over.
  await once(begin(other, '/slow', 'application/json').resume(), 'close')
  release()
  await Promise.all(uploads)
  await inWork(1)
  release()
  waiting.write('}')
  const [answer] = await once(waiting, 'data')
  expect(String(answer)).toContain('{"bytes":2}')
  waiting.destroy()
})

it('lets a slow read keep its place for a short time only', async () => {
  const { call, inWork, releaseUntil } = await startSlowServer({ turnMs: 1 })
  const [busy, other] = [randomUUID(), randomUUID()]
  for (const account of [busy, other])
    for (const path of ['/quick', '/slow']) expect((await releaseUntil(call(account, path))).status).toBe(200)
  const reads = Array.from({ length: 20 }, () => call(busy, '/slow'))
  await inWork(20)
  await releaseUntil(Promise.all(reads))
})

it('gives the place of a download back when it begins', async () => {
  const { call, inWork, releaseUntil } = await startSlowServer()
  const [busy, other] = [randomUUID(), randomUUID()]
  for (const account of [busy, other]) expect((await call(account, '/quick')).status).toBe(200)
  await (await call(busy, '/download')).body?.cancel()
  const downloads = await Promise.all(Array.from({ length: 12 }, () => call(busy, '/download')))
  expect((await call(other, '/quick')).status).toBe(200)
  const read = call(busy, '/slow')
  await inWork(1)
  await releaseUntil(read)
  await Promise.all(downloads.map(async ({ body }) => body?.cancel()))
})

it('handles eight requests of a network of unknown callers at a time, once their bodies have arrived', async () => {
  const { port, call, inWork, releaseUntil } = await startSlowServer()
  expect((await call(randomUUID(), '/quick')).status).toBe(200)
  const head = 'POST /api/v1/public HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{'
  const slow = Array.from({ length: 10 }, () => connect(port, '127.0.0.1'))
  for (const socket of slow) socket.write(head)
  const callers = Array.from({ length: 12 }, () => call('', '/public', '{}'))
  await inWork(8)
  const answers = await releaseUntil(Promise.all(callers))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  for (const socket of slow) socket.destroy()
})
