import { expect, it } from 'vitest'
import { failureOf } from './load-failure.ts'

it('repeats the queries that failed, and only those', () => {
  const repeated: string[] = []
  const query = (name: string, error: Error | null, data?: string) => ({
    data,
    error,
    refetch: () => repeated.push(name),
  })
  const away = new Error('away')
  const failure = failureOf([
    query('ap', null),
    query('switch', away),
    query('gateway', new Error('late')),
    query('old', away, 'read before'),
  ])
  expect(failure?.problem).toBe(away)
  failure?.retry()
  expect(repeated).toEqual(['switch', 'gateway'])
  expect(failureOf([query('ap', null)])).toBeNull()
  expect(failureOf([])).toBeNull()
})
