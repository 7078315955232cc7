import { type AddressInfo } from 'node:net'
import { PassThrough, type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { onTestFinished } from 'vitest'
import { type FormFile, acceptForms, readForm } from '../../../../src/http/bodies/forms.ts'
import { serveApi } from '../../../../src/http/serve-api.ts'
import { createHttpServer } from '../../../../src/http/server.ts'
import { acceptStreams } from '../../../../src/http/bodies/streams.ts'
import { createLog } from '../../../../src/platform/log.ts'
import { personOf } from '../../../support/person.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const discard = async (): Promise<void> => undefined

/**
 * Starts a server whose callers name their account as their token; `/slow` answers when `release` is called. No time
 * passes by itself.
 */
export async function startSlowServer({
  turnMs = 2 ** 31 - 1,
  firstMs = 2 ** 31 - 1,
  bodyMs = 2 ** 31 - 1,
  maxUnreadBytes = 2 ** 31 - 1,
} = {}) {
  let cpuMs = 0
  const waiting: (() => void)[] = []
  const slow = () => new Promise((resolve) => waiting.push(() => resolve({})))
  const receiveForm = async (request: FastifyRequest) => {
    await slow()
    const take = ({ body }: FormFile) => buffer(body)
    const { file } = await readForm(request, { file: 'file', maxBytes: 1000, take, discard })
    return { bytes: file.length }
  }
  const receiveFile = async ({ body }: FastifyRequest) => {
    await slow()
    return { bytes: (await buffer(body as Readable)).length }
  }
  let checks = Promise.resolve()
  let [received, begun] = [0, 0]
  const http = await createHttpServer({ log: createLog('silent'), tls: null, bodyMs })
  const authenticate = async ({ authorization = '' }: { readonly authorization?: string | undefined }) => {
    begun += 1
    await checks
    return personOf(authorization.split(/\s+/)[1] ?? '')
  }
  const clocks = { now: () => 0, cpuMs: () => cpuMs, busyMs: () => 0 }
  const options = {
    sessionCookie: () => 'sessionid',
    requestsPerAccount: 40,
    turnMs,
    firstMs,
    maxUnreadBytes,
    ...clocks,
  }
  http.addHook('onRequest', (_request, _reply, done) => {
    received += 1
    done()
  })
  await serveApi(http, { authenticate, ...options }, [
    async (api) => {
      api.get('/slow', slow)
      api.post('/slow', { schema: { body: Type.Object({}) } }, slow)
      api.get('/quick', () => ({}))
      api.get('/huge', () => ({ text: 'x'.repeat(16 * 1024 * 1024) }))
      api.get('/download', () => {
        const stream = new PassThrough()
        stream.write('a beginning')
        return stream
      })
      api.post('/public', { config: { public: true }, schema: { body: Type.Object({}) } }, slow)
      api.get('/large', { schema: { querystring: Type.Object({}) } }, async () => {
        await slow()
        return { text: 'x'.repeat(5 * 1024 * 1024) }
      })
    },
    async (api) => {
      await acceptForms(api)
      api.route({ method: 'POST', url: '/form', handler: receiveForm })
    },
    async (api) => {
      acceptStreams(api)
      api.post('/upload', slow)
      api.route({ method: 'POST', url: '/stored', handler: receiveFile })
    },
  ])
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const release = (): void => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  const releaseUntil = async <T>(ended: Promise<T>): Promise<T> => {
    const releasing = setInterval(release, 1)
    return ended.finally(() => clearInterval(releasing))
  }
  onTestFinished(() => releaseUntil(http.close()))
  return {
    port,
    /** Lets the main thread work. */
    work: (ms: number) => (cpuMs += ms),
    release,
    /** Delays the check of all later credentials until the returned function is called. */
    holdChecks: () => {
      const held = Promise.withResolvers<void>()
      checks = held.promise
      return held.resolve
    },
    begun: () => begun,
    /** Resolves when this many requests have arrived, of which some may wait for their turn. */
    received: (count: number) => waitUntil(`${count} requests`, () => Promise.resolve(received === count)),
    /** Resolves when the credentials of this many requests were checked. */
    arrived: (count: number) => waitUntil(`${count} requests`, () => Promise.resolve(begun === count)),
    releaseUntil,
    close: () => http.close(),
    inWork: (count: number) => waitUntil(`${count} requests in work`, () => Promise.resolve(waiting.length === count)),
    upload: (account: string) =>
      fetch(`http://127.0.0.1:${port}/api/v1/upload`, {
        method: 'POST',
        headers: { authorization: `Token ${account}`, 'content-type': 'application/octet-stream' },
        body: 'file',
      }),
    call: (account: string, path: string, body?: string) =>
      fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Token ${account}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
      }),
  }
}
