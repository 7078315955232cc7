import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Point,
  type Transform,
  transformMap,
  transformPlace,
  transformPoint,
  wholeDegrees,
} from './plan-transform.ts'

const unmoved: Transform = { rotationDegrees: 0, scale: 1, x: 0, y: 0 }
const pixel = fc.integer({ min: -10_000, max: 10_000 })
const point = fc.record({ x: pixel, y: pixel })
const transform = fc.record({
  rotationDegrees: fc.integer({ min: -720, max: 720 }),
  scale: fc.double({ min: 0.1, max: 10, noNaN: true }),
  x: pixel,
  y: pixel,
})

describe('transformPoint', () => {
  it.each([
    [
      { ...unmoved, rotationDegrees: 90 },
      { x: 0, y: 10 },
    ],
    [
      { ...unmoved, rotationDegrees: -90 },
      { x: 0, y: -10 },
    ],
    [
      { ...unmoved, rotationDegrees: 180 },
      { x: -10, y: 0 },
    ],
    [
      { ...unmoved, scale: 2.5 },
      { x: 25, y: 0 },
    ],
    [
      { ...unmoved, scale: 2, x: -5, y: 7 },
      { x: 15, y: 7 },
    ],
  ])('turns, then scales, then moves by %j', (by, expected) => {
    expect(transformPoint({ x: 10, y: 0 }, by)).toEqual(expected)
  })

  it('preserves distances, except for the scale', () => {
    fc.assert(
      fc.property(point, point, transform, (a, b, change) => {
        const distance = (from: Point, to: Point) => Math.hypot(from.x - to.x, from.y - to.y)
        const after = distance(transformPoint(a, change), transformPoint(b, change))
        expect(Math.abs(after - change.scale * distance(a, b))).toBeLessThan(1e-4)
      }),
    )
  })
})

describe('transformMap', () => {
  it('does not change unknown fields or fields of another shape', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), transform, (doc, change) => {
        expect(Object.keys(transformMap(doc, change))).toEqual(Object.keys(doc))
      }),
    )
    const odd = { wall_path: null, geofences: [1, { vertices: [null, { X: 1 }] }], sitesurvey_path: [{ nodes: ['x'] }] }
    expect(transformMap(odd, { ...unmoved, x: 5 })).toEqual(odd)
  })

  it('moves every kind of place on a map', () => {
    const nodes = [{ name: 'N', edges: { M: '1' }, position: { x: 1, y: 2 } }, { name: 'M' }]
    const doc = {
      wall_path: { coordinate: 'actual', nodes },
      wayfinding_path: { nodes },
      sitesurvey_path: [{ name: 'S', nodes }],
      geofences: [{ name: 'G', vertices: [{ X: 1, Y: 2, Z: 3 }] }],
      origin_x: 1,
      origin_y: 2,
      name: 'kept',
    }
    const moved = [{ name: 'N', edges: { M: '1' }, position: { x: 11, y: 22 } }, { name: 'M' }]
    expect(transformMap(doc, { ...unmoved, x: 10, y: 20 })).toEqual({
      wall_path: { coordinate: 'actual', nodes: moved },
      wayfinding_path: { nodes: moved },
      sitesurvey_path: [{ name: 'S', nodes: moved }],
      geofences: [{ name: 'G', vertices: [{ X: 11, Y: 22, Z: 3 }] }],
      origin_x: 11,
      origin_y: 22,
      name: 'kept',
    })
  })
})

describe('transformPlace', () => {
  it('returns nothing for a device without a place', () => {
    expect(transformPlace({ map_id: 'm', x: 1 }, { ...unmoved, x: 5 })).toEqual({})
  })

  it('turns the device with the image', () => {
    const turned = transformPlace({ x: 1, y: 0, orientation: 350 }, { ...unmoved, rotationDegrees: 15 })
    expect(turned).toMatchObject({ orientation: 5 })
  })

  it('returns whole degrees below 360', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e6, max: 1e6, noNaN: true }), (degrees) => {
        const whole = wholeDegrees(degrees)
        expect(Number.isInteger(whole) && whole >= 0 && whole <= 359).toBe(true)
      }),
    )
  })
})
