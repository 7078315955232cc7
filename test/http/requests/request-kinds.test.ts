import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { startSlowServer } from './connections/slow-server.ts'

it('begins one of the largest pages of an account until its size is known, though a page of one row was small', async () => {
  const { call, received, inWork, release, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  expect((await releaseUntil(call(account, '/slow?limit=1'))).status).toBe(200)
  // A page has at most a thousand rows, whatever the client asks for.
  const pages = [1000, 1000, 5000, 10 ** 6, 10 ** 15].map((limit) => call(account, `/slow?limit=${limit}`))
  await received(6)
  await inWork(1)
  expect((await call(account, '/quick')).status).toBe(200)
  await inWork(1)
  release()
  await inWork(4)
  const answers = await releaseUntil(Promise.all(pages))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})

it('begins one change of an account with a large body until its cost is known, though a small one was cheap', async () => {
  const { call, received, inWork, release, releaseUntil } = await startSlowServer()
  const account = randomUUID()
  expect((await releaseUntil(call(account, '/slow', '{}'))).status).toBe(200)
  const body = JSON.stringify({ text: 'x'.repeat(100 * 1024) })
  const changes = Array.from({ length: 4 }, () => call(account, '/slow', body))
  await received(5)
  await inWork(1)
  expect((await call(account, '/quick')).status).toBe(200)
  await inWork(1)
  release()
  await inWork(3)
  const answers = await releaseUntil(Promise.all(changes))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
})
