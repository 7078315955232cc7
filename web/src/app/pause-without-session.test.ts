import { QueryObserver } from '@tanstack/react-query'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
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
  const shown = new QueryObserver(queries, { queryKey: ['rows'], queryFn: () => answers.shift() ?? '' })
  onTestFinished(shown.subscribe(() => {}))
  token = 'second'
  await session.check()
  former.reject(new Problem(401, 'No session'))
  await vi.runOnlyPendingTimersAsync()
  expect(shown.getCurrentResult()).toMatchObject({ data: 'read again', error: null })
  expect(session.isEnded()).toBe(false)
})
