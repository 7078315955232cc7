import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  cornersOf,
  orderMaps,
  picturePath,
  scaleOf,
  segmentsOf,
  sizeOf,
  withGeofence,
  withLine,
  withinSize,
} from './map.ts'

const size = { width: 1000, height: 500 }
const inside = fc.record({ x: fc.integer({ min: 0, max: 1000 }), y: fc.integer({ min: 0, max: 500 }) })

describe('lines on a floor plan', () => {
  it('go from point to point', () => {
    const path = withLine(
      undefined,
      [
        { x: 0, y: 0 },
        { x: 100, y: 0 },
        { x: 100, y: 100 },
      ],
      size,
    )
    expect(path).toEqual({
      coordinate: 'actual',
      nodes: [
        { name: 'N1', position: { x: 0, y: 0 }, edges: { N2: '1' } },
        { name: 'N2', position: { x: 100, y: 0 }, edges: { N3: '1' } },
        { name: 'N3', position: { x: 100, y: 100 }, edges: {} },
      ],
    })
    expect(segmentsOf(path)).toHaveLength(2)
  })

  it('join where a point is at a node, and close where they end at their beginning', () => {
    const square = [
      { x: 0, y: 0 },
      { x: 100, y: 0 },
      { x: 100, y: 100 },
      { x: 3, y: 4 },
    ]
    const path = withLine(undefined, square, size)
    expect(path.nodes).toHaveLength(3)
    expect(segmentsOf(path)).toHaveLength(3)
  })

  it('are shown once, although both of their ends name them, and never to a node that is not there', () => {
    const nodes = [
      { name: 'a', position: { x: 0, y: 0 }, edges: { b: '1', gone: '1' } },
      { name: 'b', position: { x: 5, y: 0 }, edges: { a: '1' } },
    ]
    expect(segmentsOf({ nodes })).toEqual([
      [
        { x: 5, y: 0 },
        { x: 0, y: 0 },
      ],
    ])
    expect(segmentsOf(undefined)).toEqual([])
  })

  it('keep every node and line that was there, whatever names they have', () => {
    fc.assert(
      fc.property(fc.array(fc.array(inside, { minLength: 2, maxLength: 6 }), { maxLength: 6 }), (lines) => {
        let path = withLine({ nodes: [{ name: 'N2', position: { x: 7, y: 7 } }] }, [], size)
        for (const line of lines) {
          const before = path
          path = withLine(path, line, size)
          const names = (path.nodes ?? []).map(({ name }) => name)
          expect(new Set(names).size).toBe(names.length)
          expect(segmentsOf(path)).toEqual(expect.arrayContaining([...segmentsOf(before)]))
        }
      }),
    )
  })
})

describe('a floor plan', () => {
  it('has the scale of a line of known length', () => {
    const line = [
      { x: 0, y: 30 },
      { x: 40, y: 0 },
    ] as const
    expect(scaleOf(line, 2)).toBe(25)
    expect(scaleOf(line, 0)).toBeNull()
    expect(scaleOf([line[0], line[0]], 2)).toBeNull()
  })

  it('keeps points within it, as whole pixels', () => {
    expect(withinSize({ x: -3, y: 900.5 }, size)).toEqual({ x: 0, y: 500 })
    expect(withinSize({ x: 10.4, y: 10.6 }, size)).toEqual({ x: 10, y: 11 })
  })

  it('has a size to draw on, also without a picture', () => {
    expect(sizeOf({ width: 300, height: 200 })).toEqual({ width: 300, height: 200 })
    expect(sizeOf({ width: 0 })).toEqual({ width: 1200, height: 800 })
  })

  it('has its picture at the server of the page', () => {
    expect(picturePath({ url: 'https://signalbox.example/images/a/1/b' })).toBe('/images/a/1/b')
    expect(picturePath({})).toBeUndefined()
  })

  it('stands beside the floors of its building, from the lowest up', () => {
    const floor = (name: string, stack?: string, level?: number) => ({
      name,
      ...(stack !== undefined && { mapstack_id: stack }),
      ...(level !== undefined && { mapstack_floor: level }),
    })
    const maps = [floor('Roof', 'a', 2), floor('Hall 10'), floor('Cellar', 'a', 0), floor('Hall 9')]
    expect(orderMaps(maps).map(({ name }) => name)).toEqual(['Hall 9', 'Hall 10', 'Cellar', 'Roof'])
  })

  it('has geofences by their corners', () => {
    const corners = [
      { x: 1, y: 2 },
      { x: 3, y: 4 },
      { x: 5, y: 0 },
    ]
    const [geofence = {}] = withGeofence(undefined, 'Lobby', corners)
    expect(geofence).toMatchObject({ name: 'Lobby' })
    expect(cornersOf(geofence)).toEqual(corners)
    expect(withGeofence([geofence], 'Gate', corners)).toHaveLength(2)
  })
})
