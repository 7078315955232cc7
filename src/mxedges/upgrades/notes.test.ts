import { expect, test } from 'vitest'
import { dropLookedAt, isOpenToOthers, publishedNotes } from './notes.ts'

const kind = 'in_another_upgrade'
const notes = [
  { reason: 'whole' },
  { mxedge_id: '2', reason: 'skipped: it is in upgrade 9' },
  ...['1', '2', '3', '4'].map((id) => ({ mxedge_id: id, kind, reason: '' }) as const),
]

test('an upgrade that has ended is open to appliances that other upgrades had', () => {
  const finishedAt = new Date(0)
  expect(isOpenToOthers({ notes, finishedAt })).toBe(true)
  expect(isOpenToOthers({ notes: notes.slice(0, 2), finishedAt })).toBe(false)
  expect(isOpenToOthers({ notes: [], finishedAt: null })).toBe(true)
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
  expect(publishedNotes(notes)[2]).toEqual({ mxedge_id: '1', reason: '' })
})
