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

it('knows a path again whose members are in another order', () => {
  const node = { position: { x: 1, y: 2 }, name: 'N' }
  const before = [{ name: 'A', nodes: [node], id: 'a' }]
  const sent = [{ nodes: [{ name: 'N', position: { y: 2, x: 1 } }], name: 'A' }]
  expect(identifyPaths(before, sent)).toMatchObject([{ id: 'a' }])
})

it('compares no path with every other one: the server would stand still for minutes', () => {
  let reads = 0
  const name = (text: string) => ({
    get name() {
      reads += 1
      return text
    },
  })
  const count = 200
  const before = Array.from({ length: count }, (_, index) => ({ ...name(`known ${index}`), id: `${index}` }))
  const sent = Array.from({ length: count }, (_, index) => name(`new ${index}`))
  const paths = identifyPaths(before, sent) as { readonly id: string }[]
  expect(new Set(paths.map(({ id: own }) => own)).size).toBe(count)
  expect(reads).toBeLessThan(10 * count)
})
