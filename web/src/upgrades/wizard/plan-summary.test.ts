import { expect, it } from 'vitest'
import { changesIn, groupSkipped } from './plan-summary.ts'

it('groups what is skipped by the reason', () => {
  const skipped = [
    { mac: 'a', reason: 'is in another upgrade' },
    { mac: 'b', name: 'Lobby', reason: 'runs 2.0 already' },
    { mac: 'c', reason: 'runs 2.0 already' },
  ]
  expect(groupSkipped({ skipped })).toEqual([
    { reason: 'runs 2.0 already', devices: skipped.slice(1) },
    { reason: 'is in another upgrade', devices: skipped.slice(0, 1) },
  ])
})

it('reads what has changed', () => {
  const body = { detail: 'The plan no longer fits', differences: [{ mac: 'a', reason: 'runs 1' }], total: 1 }
  expect(changesIn(body)).toEqual({ differences: body.differences, total: 1 })
  for (const other of [null, 'x', {}, { differences: [] }]) expect(changesIn(other)).toBeNull()
})
