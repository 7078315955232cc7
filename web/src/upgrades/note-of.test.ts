import { expect, test } from 'vitest'
import { noteOf } from './note-of.ts'

test.each([
  ['', {}],
  ['  \t', {}],
  [' as agreed ', { note: 'as agreed' }],
])('the note %j is sent as %j', (note, sent) => {
  expect(noteOf(note)).toEqual(sent)
})
