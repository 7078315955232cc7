import { expect, it } from 'vitest'
import { Problem } from '../api/problem.ts'
import { createQueries } from './queries.ts'

it('reports with which session a refused request was sent', async () => {
  const asked: number[] = []
  let renewals = 1
  const queries = createQueries({ renewals: () => renewals, end: (of) => asked.push(of) })
  const refusal = Promise.withResolvers<never>()
  const change = queries
    .getMutationCache()
    .build(queries, { mutationFn: () => refusal.promise })
    .execute(undefined)
  renewals = 2
  refusal.reject(new Problem(401, 'No session'))
  await expect(change).rejects.toThrow('No session')
  await expect(queries.fetchQuery({ queryKey: [''], queryFn: () => refusal.promise })).rejects.toThrow('No session')
  expect(asked).toEqual([1, 2])
})
