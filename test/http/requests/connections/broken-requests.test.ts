import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createHttpServer } from '../../../../src/http/server.ts'
import { createLog } from '../../../../src/platform/log.ts'

let http: FastifyInstance
let turn: Promise<void>
/** Lets the answers end that wait for it. */
let endTurn: () => void
beforeEach(() => ({ promise: turn, resolve: endTurn } = Promise.withResolvers<void>()))
const logged: string[] = []
beforeAll(async () => {
  http = await createHttpServer({ log: createLog('info', { write: (line) => void logged.push(line) }), tls: null })
  http.get('/here', () => ({}))
  http.route({
    method: ['GET', 'DELETE'],
    url: '/slow',
    handler: async () => {
      await turn
      return { slow: true }
    },
  })
  const begin = (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const body = new PassThrough()
    body.write('begun')
    void turn.then(() => body.end('ended'))
    return reply.send(body)
  }
  http.get('/long', begin)
  http.post('/long', { onRequest: async (request, reply) => begin(request, reply) }, () => ({}))
  http.post('/here', ({ body }) => ({ body }))
  await http.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => http.close())

function open(): Socket {
  return connect((http.server.address() as AddressInfo).port, '127.0.0.1')
}

/** Sends bytes that are not HTTP, and reads to the end of the connection. */
async function exchange(sent: string): Promise<{ status: number; head: string; body: unknown }> {
  const socket = open()
  socket.write(sent)
  return parse(await text(socket))
}

function parse(answer: string): { status: number; head: string; body: unknown } {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head: head.toLowerCase(), body: JSON.parse(body) }
}

const jsonHead = 'POST /here HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'

it.each([
  ['a request line that is none', 'hello\r\n\r\n', 400],
  ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
  ['a header without a colon', 'GET /here HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n', 400],
  ['two lengths', 'POST /here HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}', 400],
  ['a chunk without a size', `${jsonHead}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
  ['headers of 100 kB', `GET /here HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
  ['an unknown expectation', 'GET /here HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n', 417],
  ['a long one', `GET /here HTTP/1.1\r\nHost: x\r\nExpect: ${'x'.repeat(5000)}\r\nConnection: close\r\n\r\n`, 417],
  ['two hosts', 'GET /here HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\n\r\n', 400],
  ['the same host twice', 'GET /here HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
  ['two hosts on a path of nobody', 'GET /x HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n', 400],
  ['no host', 'GET /here HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
])('answers %s in the form of every error', async (_what, sent, status) => {
  const answer = await exchange(sent)
  expect(answer).toMatchObject({ status, body: { detail: expect.any(String) } })
  expect(JSON.stringify(answer.body).length).toBeLessThan(500)
  expect(answer.head).toContain('content-type: application/json')
})

it('logs nothing if a client leaves in the middle of its body', async () => {
  const left = new Promise((resolve) => http.server.once('request', ({ socket }) => socket.once('close', resolve)))
  const socket = open()
  socket.write(`${jsonHead}Content-Length: 100\r\n\r\n{`)
  await once(http.server, 'request')
  logged.length = 0
  socket.resetAndDestroy()
  await left
  await setImmediate()
  expect(logged).toEqual([])
})

it('answers headers that never end with 408 in that form', async () => {
  const accepted = once(http.server, 'connection')
  const socket = open()
  socket.write('GET /here HTTP/1.1\r\nHost: x\r\n')
  // The server checks for late requests every half minute; this simulates that check.
  const [late] = await accepted
  http.server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), late)
  expect(parse(await text(socket))).toMatchObject({ status: 408, body: { detail: expect.stringContaining('in time') } })
})

/** Resolves when the parser has given up on what follows a request. */
const givenUp = (): Promise<unknown> => once(http.server, 'clientError')

it.each(['GET', 'DELETE'])('answers a %s that bytes follow which are no request', async (method) => {
  // Clients that write a body but announce none send it like that.
  const broken = givenUp()
  const answer = exchange(`${method} /slow HTTP/1.1\r\nHost: x\r\n\r\nundefined\n`)
  await broken
  endTurn()
  const { status, head, body } = await answer
  expect({ status, body }).toEqual({ status: 200, body: { slow: true } })
  expect(head).toContain('connection: close')
})

it.each([
  ['bytes that are no request', 'GET /here HTTP/1.1\r\nHost: x\r\n\r\n', 'undefined\n', ['200', '200', '200']],
  ['a request without an end', '', `${jsonHead}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, ['200', '200', '400']],
])('answers each of the requests before %s', async (_what, third, broken, statuses) => {
  const socket = open()
  const givenUpOn = givenUp()
  socket.write(`GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /here HTTP/1.1\r\nHost: x\r\n\r\n${third}${broken}`)
  await givenUpOn
  endTurn()
  const answers = await text(socket)
  expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(statuses)
})

it('waits once for the requests before, however much follows', async () => {
  const requested = once(http.server, 'request')
  const socket = open()
  const first = `GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${jsonHead}Transfer-Encoding: chunked\r\n\r\n`
  const waits: number[] = []
  for (const sent of [`${first}zz\r\n`, 'zz', 'zz']) {
    const givenUpOn = givenUp()
    socket.write(sent)
    await givenUpOn
    const [, slow]: ServerResponse[] = await requested
    waits.push(slow?.listenerCount('close') ?? 0)
  }
  expect(new Set(waits).size).toBe(1)
  endTurn()
  expect(await text(socket)).toContain('HTTP/1.1 400')
})

it('ends an answer that is under way, adds nothing to it, and closes the connection', async () => {
  const socket = open()
  socket.write('GET /long HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(String(await once(socket, 'data'))).toContain('200 OK')
  const broken = givenUp()
  socket.write('hello\r\n\r\n')
  await broken
  endTurn()
  const rest = await text(socket)
  expect(rest).toContain('ended')
  expect(rest).not.toContain('400')
})

it('adds nothing to an answer that began before a broken body', async () => {
  const socket = open()
  socket.write('POST /long HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  expect(String(await once(socket, 'data'))).toContain('200 OK')
  socket.write('zz\r\n')
  expect(await text(socket).catch(() => '')).not.toContain('400')
})

it('takes a request without Host from a client of HTTP/1.0', async () => {
  expect(await exchange('GET /here HTTP/1.0\r\n\r\n')).toMatchObject({ status: 200, body: {} })
})
