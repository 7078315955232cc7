import { expect, it } from 'vitest'
import { editedTexts, rebased, takenFields, takenText, unsentOf, withEdit, withReliedOn } from './edits.ts'

const stored = { name: 'Tickets', url: 'http://a', enabled: 'true' }
const edits = withEdit(withEdit({}, stored, { name: 'url', text: 'http' }), stored, { name: 'url', text: 'http://b' })

it('shows what somebody else has saved in the fields that were not edited', () => {
  expect(editedTexts({ ...stored, name: 'New' }, edits)).toEqual({ ...stored, name: 'New', url: 'http://b' })
})

it('knows the edited fields that somebody else has changed, until the person knows them', () => {
  expect(takenFields(edits, { ...stored, name: 'New' })).toEqual([])
  expect(takenFields(edits, { ...stored, url: 'http://b' })).toEqual([])
  const others = { ...stored, url: 'http://c' }
  expect(takenFields(edits, others)).toEqual([{ name: 'url', text: 'http://c' }])
  const known = rebased(edits, takenFields(edits, others))
  expect(editedTexts(others, known)).toEqual({ ...stored, url: 'http://b' })
  expect(takenFields(known, others)).toEqual([])
})

it('says what the fields are by now', () => {
  const taken = [
    { name: 'url', text: 'http://c' },
    { name: 'enabled', text: 'true' },
    { name: 'order', text: '' },
    { name: 'name', text: 'true' },
    { name: 'filter', text: '' },
    { name: 'cert', text: 'x'.repeat(100) },
  ]
  const switches = new Set(['enabled', 'order'])
  const fieldOf = (name: string) => ({ label: name.toUpperCase(), kind: switches.has(name) ? 'switch' : 'text' })
  expect(takenText(taken, fieldOf)).toBe(
    `Somebody else has changed this meanwhile: URL is now "http://c", ENABLED is now on, ORDER is now off, NAME is now "true", FILTER is now empty, CERT is now "${'x'.repeat(80)}…". Save again to replace it.`,
  )
})

it('keeps what was typed since the request, over what it has saved', () => {
  const saved = { ...stored, url: 'http://b' }
  expect(unsentOf(edits, edits, saved)).toEqual({})
  const typed = withEdit(withEdit(edits, stored, { name: 'url', text: 'http://d' }), stored, {
    name: 'name',
    text: 'New',
  })
  const unsent = unsentOf(typed, edits, saved)
  expect(editedTexts(saved, unsent)).toEqual({ ...saved, url: 'http://d', name: 'New' })
  expect(takenFields(unsent, saved)).toEqual([])
  const others = { ...saved, url: 'http://c', name: 'Their name' }
  expect(takenFields(unsent, others).map(({ name }) => name)).toEqual(['url', 'name'])
})

it('no longer knows a field as edited that has its former text again', () => {
  const undone = withEdit(edits, stored, { name: 'url', text: 'http://a' })
  expect(undone).toEqual({})
  expect(takenFields(undone, { ...stored, url: 'http://c' })).toEqual([])
})

it('keeps a former text that was typed again since the request', () => {
  const saved = { ...stored, url: 'http://b' }
  const undone = withEdit(edits, stored, { name: 'url', text: 'http://a' })
  expect(editedTexts(saved, unsentOf(undone, edits, saved))).toEqual(stored)
})

it('notices a change of a field on which an edit relies', () => {
  const relying = withReliedOn(edits, stored, () => ['name'])
  expect(takenFields(relying, stored)).toEqual([])
  const taken = takenFields(relying, { ...stored, name: 'Their name' })
  expect(taken).toEqual([{ name: 'name', text: 'Their name' }])
  expect(takenFields(rebased(relying, taken), { ...stored, name: 'Their name' })).toEqual([])
})
