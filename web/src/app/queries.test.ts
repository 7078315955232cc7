import { expect, it, onTestFinished, vi } from 'vitest'
import { Problem } from '../api/problem.ts'
import { createQueries } from './queries.ts'

it('reports when the server was asked that does not know the session', async () => {
  vi.useFakeTimers({ now: 1000 })
  onTestFinished(() => void vi.useRealTimers())
  const askedAt: number[] = []
  const queries = createQueries((at) => askedAt.push(at))
  const refusal = Promise.withResolvers<never>()
  const change = queries
    .getMutationCache()
    .build(queries, { mutationFn: () => refusal.promise })
    .execute(undefined)
  vi.setSystemTime(1500)
  refusal.reject(new Problem(401, 'No session'))
  await expect(change).rejects.toThrow('No session')
  await expect(queries.fetchQuery({ queryKey: [''], queryFn: () => refusal.promise })).rejects.toThrow('No session')
  expect(askedAt).toEqual([1000, 1500])
})
