import { expect, it } from 'vitest'
import { limitTime } from './limit-time.ts'

/** Limits the time of answers. */
function setUp(send: Parameters<typeof limitTime>[0]['send']) {
  const limits = new Map<() => void, number>()
  const schedule = (run: () => void, ms: number) => {
    limits.set(run, ms)
    return () => void limits.delete(run)
  }
  return { limits, send: limitTime({ send, schedule }) }
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
  const answer = await send(new Request('http://server/'))
  expect(answer.status).toBe(201)
  expect(limits.size).toBe(1)
  const writer = body.writable.getWriter()
  void writer.write(new TextEncoder().encode('{}'))
  void writer.close()
  expect(await answer.text()).toBe('{}')
  expect(limits.size).toBe(0)
})

it('has no limit after an answer without a body', async () => {
  const { limits, send } = setUp(() => Promise.resolve(new Response(null, { status: 204 })))
  expect((await send(new Request('http://server/'))).status).toBe(204)
  expect(limits.size).toBe(0)
})
