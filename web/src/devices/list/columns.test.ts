import { expect, it } from 'vitest'
import { columnText, columnsIn } from './columns.ts'

const keysIn = (text: string | undefined) => columnsIn(text).map(({ key }) => key)

it('shows the usual columns unless others are asked for', () => {
  expect(keysIn(undefined)).toEqual(['state', 'model', 'version', 'site', 'mac'])
  expect(keysIn('serial,state,color')).toEqual(['state', 'serial'])
  expect(keysIn('color')).toEqual(keysIn(undefined))
})

it('mentions columns in the address only where they differ', () => {
  expect(columnText(new Set(keysIn(undefined)))).toBeUndefined()
  expect(columnText(new Set(['serial', 'state']))).toBe('state,serial')
})
