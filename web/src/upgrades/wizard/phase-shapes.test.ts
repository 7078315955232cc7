import fc from 'fast-check'
import { expect, it } from 'vitest'
import { strategies } from './draft.ts'
import { describePhases, shapePhases } from './phase-shapes.ts'

it('draws the phases of canary, with the implied last one and all gates', () => {
  const draft = { phases: '10, 50', gate: 'first', soak: '60', begin: 'approved' } as const
  expect(shapePhases(draft)).toEqual([
    { from: 0, to: 10, wait: 'approval' },
    { from: 10, to: 50, wait: 'time' },
    { from: 50, to: 100, wait: null },
  ])
  expect(describePhases(draft)).toBe(
    'Starts with an approval. Upgraded after each phase: 10 % and then an approval, 50 % and then a wait, 100 %',
  )
  expect(describePhases({ strategy: 'big_bang' })).toBe('Upgraded after each phase: 100 %')
})

it('draws the approvals of appliances, and those of routers only before the start', () => {
  const draft = { phases: '10', gate: 'each', begin: 'approved' } as const
  expect(shapePhases({ ...draft, kind: 'mxedge' }).map(({ wait }) => wait)).toEqual(['approval', null])
  expect(describePhases({ ...draft, kind: 'ssr', strategy: 'big_bang' })).toBe(
    'Starts with an approval. Upgraded after each phase: 100 %',
  )
})

it('draws batches that double up to the largest', () => {
  const ends = shapePhases({ strategy: 'rrm', first: '10', most: '40' }).map(({ to }) => to)
  expect(ends).toEqual([10, 30, 70, 100])
})

it.each(['50, 10', '0, 100', 'ten', '1, 101'])('draws nothing of %j', (phases) => {
  expect(shapePhases({ phases })).toEqual([])
})

it('covers all devices once, or draws nothing', () => {
  const drafts = fc.record({
    strategy: fc.constantFrom(...strategies),
    phases: fc.array(fc.integer({ min: -1, max: 110 }), { maxLength: 30 }).map(String),
    first: fc.integer({ min: -1, max: 101 }).map(String),
    most: fc.constantFrom('', 'x', '1', '30', '100'),
  })
  fc.assert(
    fc.property(drafts, (draft) => {
      const shapes = shapePhases(draft)
      if (shapes.length === 0) return
      expect([shapes[0]?.from, shapes.at(-1)?.to]).toEqual([0, 100])
      for (const [index, { from, to }] of shapes.entries()) {
        expect(to).toBeGreaterThan(from)
        expect(from).toBe(shapes[index - 1]?.to ?? 0)
      }
    }),
  )
})
