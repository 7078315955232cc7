import { expect, it } from 'vitest'
import { limitTime } from './limit-time.ts'

it.each([
  ['GET', 'The server has not answered within a minute.'],
  ['PUT', 'The server has not answered within a minute. The change may have been made: look before you repeat it.'],
])('gives up a %s without an answer', async (method, message) => {
  const limits: { readonly run: () => void; readonly ms: number }[] = []
  const send = limitTime({
    send: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    schedule: (run, ms) => limits.push({ run, ms }),
  })
  const answer = send(new Request('http://server/', { method }))
  expect(limits).toMatchObject([{ ms: 60_000 }])
  limits[0]?.run()
  await expect(answer).rejects.toMatchObject({ name: 'Problem', status: 0, message })
})
