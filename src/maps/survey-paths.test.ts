import { expect, it } from 'vitest'
import { identifyPaths } from './survey-paths.ts'

const uuid = /^[0-9a-f-]{36}$/
const id = '5b8d4f51-6f4c-4d55-8f3c-2c53ad3d3b2f'

it('gives each path without an id one of its own, and keeps an id that was sent', () => {
  const sent = [{ name: 'A' }, { name: 'A' }, { name: 'B', id }, { id: null }, { id: '', coordinate: 'actual' }]
  const paths = identifyPaths(undefined, sent) as { readonly id: string }[]
  expect(paths).toMatchObject([{ name: 'A' }, { name: 'A' }, { name: 'B', id }, {}, { coordinate: 'actual' }])
  for (const path of paths) expect(path.id).toMatch(uuid)
  expect(new Set(paths.map((path) => path.id)).size).toBe(sent.length)
})

it('knows a path again by its content, and takes no id that another path was sent with', () => {
  const before = [
    { name: 'A', id: 'a' },
    { name: 'B', id: 'b' },
  ]
  expect(identifyPaths(before, [{ name: 'B' }, { name: 'A' }])).toEqual(before.toReversed())
  const [moved, copy] = identifyPaths(before, [{ name: 'C', id: 'a' }, { name: 'A' }]) as { readonly id: string }[]
  expect(moved).toEqual({ name: 'C', id: 'a' })
  expect(copy?.id).toMatch(uuid)
})
