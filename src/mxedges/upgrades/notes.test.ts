import { expect, test } from 'vitest'
import { countAwaited, dropLookedAt, isOpenToOthers, withoutKinds } from './notes.ts'

const kind = 'in_another_upgrade'
const notes = [
  { reason: 'whole' },
  { mxedge_id: '2', reason: 'skipped: it is in upgrade 9' },
  ...['1', '2', '3', '4'].map((id) => ({ mxedge_id: id, kind, reason: '' }) as const),
]
const upgrade = { notes, includeDueMs: 5, stopping: null, finishedAt: new Date(0) }

test('an upgrade that searches awaits the appliances that other upgrades had', () => {
  const others = [
    { ...upgrade, includeDueMs: null },
    { ...upgrade, stopping: 'cancelled' as const },
    { ...upgrade, notes: notes.slice(0, 2) },
  ]
  expect([upgrade, ...others].map(countAwaited)).toEqual([4, 0, 0, 0])
  expect([upgrade, ...others].map(isOpenToOthers)).toEqual([true, false, false, false])
  expect(isOpenToOthers({ ...upgrade, includeDueMs: null, finishedAt: null })).toBe(true)
})

test.each([
  [null, null, [], []],
  ['1', '3', [], ['1', '4']],
  ['1', null, ['3'], ['1', '3']],
  [null, '2', ['1'], ['1', '3', '4']],
])('behind %s, up to %s, while %j are busy, a look leaves %j to be awaited', (after, last, busy, left) => {
  const kept = dropLookedAt(notes, { after, last, busy: new Set(busy) })
  expect(kept.slice(0, 2)).toEqual(notes.slice(0, 2))
  expect(kept.slice(2).map(({ mxedge_id: id }) => id)).toEqual(left)
})

test('notes are published without their kinds', () => {
  expect(withoutKinds(notes)[2]).toEqual({ mxedge_id: '1', reason: '' })
})
