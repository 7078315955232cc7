import fc from 'fast-check'
import { expect, it } from 'vitest'
import { placeSites } from './place-sites.ts'

const berlin = { id: 'berlin', lat: 52.5, lng: 13.4 }
const newYork = { id: 'new york', lat: 40.7, lng: -74 }
const fiji = { id: 'fiji', lat: -18.1, lng: 178.4 }
const samoa = { id: 'samoa', lat: -13.8, lng: -171.8 }

const named = (ids: readonly string[], marks: ReturnType<typeof placeSites>['clusters']) =>
  ids.map((id) => marks.find((mark) => mark.ids.includes(id)))

it('puts the west left and the north up', () => {
  const [west, east] = named(['new york', 'berlin'], placeSites([berlin, newYork], 2).clusters)
  expect(west?.x).toBeLessThan(east?.x ?? 0)
  expect(west?.y).toBeGreaterThan(east?.y ?? 1)
})

it('keeps neighbors across the date line together', () => {
  const { clusters, meridians } = placeSites([fiji, samoa], 2)
  const [west, east] = named(['fiji', 'samoa'], clusters)
  expect(west?.x).toBeLessThan(east?.x ?? 0)
  expect(meridians.map(({ label }) => label)).toContain('180°W')
})

it('marks sites of one street once', () => {
  const next = { ...berlin, id: 'next door', lng: 13.401 }
  expect(placeSites([berlin, next], 2).clusters).toMatchObject([{ ids: ['berlin', 'next door'] }])
})

it('has every site within the map, with lines to judge by', () => {
  const degree = (most: number) => fc.double({ min: -most, max: most, noNaN: true })
  fc.assert(
    fc.property(fc.array(fc.record({ lat: degree(90), lng: degree(180) }), { minLength: 1 }), (places) => {
      const sites = places.map((place, index) => ({ id: String(index), ...place }))
      const { clusters, meridians, parallels } = placeSites(sites, 2)
      expect(clusters.flatMap(({ ids }) => ids)).toHaveLength(sites.length)
      for (const { x, y } of clusters) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(0)
        expect(Math.max(x, y)).toBeLessThanOrEqual(1)
      }
      expect(meridians.length).toBeGreaterThan(1)
      expect(parallels.length).toBeGreaterThan(0)
    }),
  )
})
