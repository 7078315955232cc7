import { expect, test } from 'vitest'
import { noteP2p, noteUnusedP2p, planP2p } from './plan-p2p.ts'

const defaults = { isEnabled: true, clusterSize: 10, parallelism: null }

test.each([
  [0, 0, 1, 0],
  [1, 1, 1, 1],
  [7, 1, 1, 1],
  [50, 5, 1, 5],
  [51, 6, 3, 2],
  [100, 10, 3, 4],
  [101, 11, 10, 2],
  [1000, 100, 10, 10],
])('%i access points download in %i batches, %i at a time, in %i rounds', (count, batches, parallel, rounds) => {
  const plan = planP2p(defaults, count)
  expect(plan).toMatchObject({ batches, parallel })
  expect(Math.ceil(plan.batches / plan.parallel)).toBe(rounds)
  // If several rounds are needed, a limit separates the devices of one round from those of the next.
  expect(plan.maxDownloads).toBe(rounds > 1 ? 10 * parallel : null)
})

test('a request decides the size and the number of batches at a time; the size 0 is one batch', () => {
  expect(planP2p({ ...defaults, clusterSize: 4, parallelism: 2 }, 20)).toEqual({
    ...{ batches: 5, size: 4, parallel: 2 },
    maxDownloads: 8,
  })
  const one = planP2p({ ...defaults, clusterSize: 0 }, 70)
  expect(one).toMatchObject({ batches: 1, size: 70, maxDownloads: null })
  expect(noteP2p(one)).toEqual([{ reason: expect.stringContaining('all at once') }])
})

test('what describes batches that are not wanted is noted, unless it is a default', () => {
  expect(noteUnusedP2p({ ...defaults, isEnabled: false })).toEqual([])
  expect(noteUnusedP2p({ ...defaults, isEnabled: false, clusterSize: 5 })).toHaveLength(1)
  expect(noteUnusedP2p({ ...defaults, isEnabled: false, parallelism: 2 })).toHaveLength(1)
  expect(noteUnusedP2p({ ...defaults, clusterSize: 5 })).toEqual([])
})
