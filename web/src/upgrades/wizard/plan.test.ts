import { expect, it } from 'vitest'
import { changesIn, groupNoted, groupSkipped } from './plan-summary.ts'

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

it('groups the notes about devices that are upgraded', () => {
  const notes = [
    { site_id: 's', reason: 'Devices restart before those that they depend on' },
    { site_id: 's', mac: 'a', name: 'Lobby', reason: 'no recovery snapshot' },
  ]
  const [, noted] = notes
  expect(groupNoted({ notes })).toEqual([{ reason: 'no recovery snapshot', devices: [noted] }])
})

it('reads what has changed', () => {
  const body = { detail: 'The plan no longer fits', differences: [{ mac: 'a', reason: 'runs 1' }], total: 1 }
  expect(changesIn(body)).toEqual({ differences: body.differences, total: 1 })
  for (const other of [null, 'x', {}, { differences: [] }]) expect(changesIn(other)).toBeNull()
})
