import { expect, it } from 'vitest'
import { createUnsaved } from './unsaved.ts'

it('is held by each form with edits, until all are saved or released', () => {
  const unsaved = createUnsaved()
  expect(unsaved.isHeld()).toBe(false)
  const [first, second] = [unsaved.hold(), unsaved.hold()]
  first()
  first()
  expect(unsaved.isHeld()).toBe(true)
  second()
  expect(unsaved.isHeld()).toBe(false)
  const third = unsaved.hold()
  unsaved.release()
  expect(unsaved.isHeld()).toBe(false)
  third()
  expect(unsaved.isHeld()).toBe(false)
})
