import { expect, it } from 'vitest'
import { completeAnswers } from './complete-answers.ts'

/** Limits the time of answers. */
function setUp(send: Parameters<typeof completeAnswers>[0]['send']) {
  const limits = new Map<() => void, number>()
  const schedule = (run: () => void, ms: number) => {
    limits.set(run, ms)
    return () => void limits.delete(run)
  }
  return { limits, send: completeAnswers({ send, schedule }) }
}

it.each([
  ['GET', 'The server has not answered within a minute.'],
  ['PUT', 'The server has not answered within a minute. The change may have been made: look before you repeat it.'],
])('gives up a %s without an answer', async (method, message) => {
  const { limits, send } = setUp(
    ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  )
  const answer = send(new Request('http://server/', { method }))
  expect([...limits.values()]).toEqual([60_000])
  for (const giveUp of limits.keys()) giveUp()
  await expect(answer).rejects.toMatchObject({ name: 'Problem', status: 0, message })
  expect(limits.size).toBe(0)
})

it('limits the time until the end of the answer, and not beyond it', async () => {
  const body = new TransformStream<Uint8Array, Uint8Array>()
  const { limits, send } = setUp(() => Promise.resolve(new Response(body.readable, { status: 201 })))
  const sent = send(new Request('http://server/'))
  const writer = body.writable.getWriter()
  await writer.write(new TextEncoder().encode('{}'))
  expect(limits.size).toBe(1)
  void writer.close()
  const answer = await sent
  expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 201, text: '{}' })
  expect(limits.size).toBe(0)
})

const lost = (): Promise<never> => Promise.reject(new TypeError('Failed to fetch'))
const cut = () => Promise.resolve(new Response(new ReadableStream({ start: (body) => body.error(new Error('cut')) })))

it.each([
  ['GET', lost, 'The server does not answer.'],
  ['POST', lost, 'The server does not answer. The change may have been made: look before you repeat it.'],
  ['GET', cut, 'The answer of the server was incomplete.'],
  ['POST', cut, 'The answer of the server was incomplete. The change may have been made: look before you repeat it.'],
])('says after a lost connection what may have happened to a %s', async (method, answer, message) => {
  const { send } = setUp(answer)
  await expect(send(new Request('http://server/', { method }))).rejects.toMatchObject({ status: 0, message })
})

it.each(['/api/v1/login', '/api/v1/login/two_factor'])('says of %s only that it failed', async (path) => {
  const { send } = setUp(lost)
  const message = 'The server does not answer.'
  await expect(send(new Request(`http://server${path}`, { method: 'POST' }))).rejects.toMatchObject({ message })
})

it.each([
  [{ dry_run: true }, 'The server does not answer.'],
  [{ dry_run: false }, 'The server does not answer. The change may have been made: look before you repeat it.'],
])('knows what may have happened to a request with %o', async (body, message) => {
  const { send } = setUp(lost)
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://server/', { method: 'POST', headers, body: JSON.stringify(body) })
  await expect(send(request)).rejects.toMatchObject({ message })
})

it('has no limit after an answer without a body', async () => {
  const { limits, send } = setUp(() => Promise.resolve(new Response(null, { status: 204 })))
  expect((await send(new Request('http://server/'))).status).toBe(204)
  expect(limits.size).toBe(0)
})

it('says so too if a reverse proxy has lost the server', async () => {
  const { send } = setUp(() => Promise.resolve(new Response('<html>', { status: 504 })))
  expect((await send(new Request('http://server/'))).status).toBe(504)
  await expect(send(new Request('http://server/', { method: 'DELETE' }))).rejects.toMatchObject({
    status: 504,
    message: 'The server answered 504. The change may have been made: look before you repeat it.',
  })
})
