import fc from 'fast-check'
import { expect, it } from 'vitest'
import { MAX_PORT_CHANGES, decidePortChanges } from './decide-port-changes.ts'
import type { Port } from './telemetry.ts'

const up = (id: string): Port => ({ id, up: true })
const down = (id: string): Port => ({ id, up: false })

it('finds the ports whose links have changed, with how often they have', () => {
  expect(
    decidePortChanges([
      [up('a'), up('b')],
      [down('a'), up('b')],
    ]),
  ).toEqual([{ port: 'a', up: false, count: 1 }])
  expect(decidePortChanges([[up('a')], [down('a')], [up('a')]])).toEqual([{ port: 'a', up: true, count: 2 }])
})

it('takes no port for changed that is new, gone, or of an unknown link', () => {
  expect(decidePortChanges([])).toEqual([])
  expect(decidePortChanges([[up('a')]])).toEqual([])
  expect(decidePortChanges([[up('a')], [up('b')], [{ id: 'a' }]])).toEqual([])
  expect(decidePortChanges([[up('a')], [{ id: 'a' }], [down('a')]])).toEqual([{ port: 'a', up: false, count: 1 }])
})

it('is bounded, and counts as many changes as there are', () => {
  const port = fc.record({ id: fc.constantFrom('a', 'b', 'c'), up: fc.boolean() })
  fc.assert(
    fc.property(fc.array(fc.uniqueArray(port, { selector: ({ id }) => id })), (reports) => {
      const ids = ['a', 'b', 'c']
      const states = (id: string) => reports.flatMap((ports) => ports.filter((one) => one.id === id))
      const expected = ids.map(
        (id) => states(id).filter(({ up: now }, n, all) => n > 0 && all[n - 1]?.up !== now).length,
      )
      const found = new Map(decidePortChanges(reports).map(({ port: id, count }) => [id, count]))
      expect(ids.map((id) => found.get(id) ?? 0)).toEqual(expected)
    }),
  )
  const ids = Array.from({ length: MAX_PORT_CHANGES + 1 }, (_, n) => `ge-0/0/${n}`)
  expect(decidePortChanges([ids.map(up), ids.map(down)])).toHaveLength(MAX_PORT_CHANGES)
})
