import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { type UploadLimits, createUpload } from '../../../src/agent/downloads/upload.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const bytes = randomBytes(300_000)
/** Longer than any test. */
const NEVER_MS = 600_000

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => unknown

/** Serves by the handler. @returns The number of requests, and how to upload the file to the server. */
async function serve(handler: Handler) {
  let count = 0
  const server = createServer((request, response) => void handler(request, response, (count += 1)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const path = join(await temporaryDir(), 'file')
  await writeFile(path, bytes)
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/support-files/a`
  return {
    countOfRequests: () => count,
    upload: (limits: Partial<UploadLimits> = {}, signal: AbortSignal = new AbortController().signal) => {
      const quick = { tries: 3, firstPauseMs: 1, longestPauseMs: 2, stallMs: NEVER_MS, ...limits }
      return createUpload({ ca: [], signal, limits: quick })({ uri, path, name: 'machine' })
    },
  }
}

/** Reads the form, and answers as the server of Signalbox does. */
const honest = (received: Buffer[]) => async (request: IncomingMessage, response: ServerResponse) => {
  received.push(await buffer(request))
  response.writeHead(200).end('{}')
}

const contains = (form: Buffer | undefined) => form?.includes(bytes) === true && form.includes('machine')

test('an upload that breaks begins again', async () => {
  const received: Buffer[] = []
  const { upload, countOfRequests } = await serve((request, response, count) =>
    count > 1 ? honest(received)(request, response) : request.once('data', () => request.socket.destroy()),
  )
  await upload()
  expect(countOfRequests()).toBe(2)
  expect(received.map(contains)).toEqual([true])
})

test('an upload that the server refuses is not repeated', async () => {
  const { upload, countOfRequests } = await serve(async (request, response) => {
    await buffer(request)
    response.writeHead(400).end('{"detail":"is empty"}')
  })
  await expect(upload()).rejects.toThrow('The server answered 400 to the upload: is empty')
  expect(countOfRequests()).toBe(1)
})

test('an upload ends with the last reason after as many attempts as are allowed', async () => {
  const { upload, countOfRequests } = await serve(async (request, response) => {
    await buffer(request)
    response.writeHead(503).end('{"detail":"the disk is full"}')
  })
  await expect(upload()).rejects.toThrow('The server answered 503 to the upload: the disk is full')
  expect(countOfRequests()).toBe(3)
})

test('an upload to a server that stops reading begins again', async () => {
  const received: Buffer[] = []
  const { upload, countOfRequests } = await serve((request, response, count) =>
    count > 1 ? honest(received)(request, response) : null,
  )
  await upload({ stallMs: 50 })
  expect(countOfRequests()).toBe(2)
  expect(received.map(contains)).toEqual([true])
})

test('an upload ends when all attempts together take too long, and when the agent stops', async () => {
  const { upload } = await serve(() => {})
  await expect(upload({ longestMs: 50 })).rejects.toThrow('The upload took longer than 0.05 s')
  const stopping = new AbortController()
  const ended = upload({}, stopping.signal)
  stopping.abort()
  await expect(ended).rejects.toThrow('aborted')
})
