import { expect, it } from 'vitest'
import { hiddenProperty } from './hidden-property.ts'

it('belongs to the object, and is not one of its names', () => {
  const [size, place] = [hiddenProperty<object, number>('size'), hiddenProperty<object, number>('size')]
  const object = { name: 'a' }
  expect(size.get(object)).toBeUndefined()
  size.set(object, 1)
  place.set(object, 2)
  expect([size.get(object), place.get(object), size.get({})]).toEqual([1, 2, undefined])
  expect(Object.keys(object)).toEqual(['name'])
  expect(JSON.stringify(object)).toBe('{"name":"a"}')
  size.set(object, undefined)
  expect(size.get(object)).toBeUndefined()
})
