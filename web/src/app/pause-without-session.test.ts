import { afterEach, expect, it, vi } from 'vitest'
import type { Server } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { createPageSession } from '../api/session.ts'
import { pauseWithoutSession } from './pause-without-session.ts'
import { createQueries } from './queries.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

it('reads again after another tab has signed in again, and ignores a late refusal of the former session', async () => {
  vi.useFakeTimers()
  vi.stubGlobal('addEventListener', () => {})
  let token = 'first'
  const session = createPageSession({
    readToken: () => token,
    readPerson: () => Promise.resolve('ada'),
    discard: () => {},
  })
  session.begin('ada')
  const queries = createQueries(session)
  pauseWithoutSession({ session, stream: { setPaused: () => {} } } as unknown as Server, queries)
  const former = Promise.withResolvers<string>()
  const answers = [former.promise, Promise.resolve('read again')]
  const read = queries.fetchQuery({ queryKey: ['rows'], queryFn: () => answers.shift() ?? '' }).catch(String)
  token = 'second'
  await session.check()
  former.reject(new Problem(401, 'No session'))
  await vi.runOnlyPendingTimersAsync()
  expect(await read).not.toContain('No session')
  expect(session.isEnded()).toBe(false)
})
