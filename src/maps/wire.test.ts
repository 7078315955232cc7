import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { check } from '../http/validate.ts'
import { AppError } from '../platform/errors.ts'
import { mergeMap } from './map.ts'
import { MapBody } from './wire.ts'

/** The field for which a body is refused; null if it is accepted. */
function refusedFor(body: unknown): string | null {
  try {
    check(MapBody, body)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message.replace(/^Invalid field (.*?): .*$/, '$1')
    throw error
  }
}

const text = fc.string({ maxLength: 20 })
const whole = fc.maxSafeInteger()
const real = fc.double({ noNaN: true, noDefaultInfinity: true })
const optional = <T extends object>(parts: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(parts, { requiredKeys: [] })
const nodes = fc.array(
  optional({ edges: fc.dictionary(text, text), name: text, position: optional({ x: real, y: real }) }),
  { maxLength: 3 },
)
const vendor = optional({ account_key: text, default_level_id: whole, map_id: text })
const corner = optional({ lat: text, lng: text })

/** The values that the specification's table allows, by field. */
const allowed = {
  geofences: fc.array(optional({ name: text, vertices: fc.array(optional({ X: real, Y: real }), { maxLength: 3 }) })),
  group_idx: whole,
  group_name: text,
  height: whole,
  height_m: real,
  latlng_br: corner,
  latlng_tl: corner,
  locked: fc.boolean(),
  mapstack_floor: fc.nat(),
  mapstack_id: fc.uuid(),
  name: text,
  occupancy_limit: whole,
  orientation: fc.integer({ min: 0, max: 359 }),
  origin_x: whole,
  origin_y: whole,
  ppm: real,
  sitesurvey_path: fc.uniqueArray(fc.record({ coordinate: text, name: text, nodes, id: fc.uuid() }), {
    maxLength: 2,
    selector: ({ id }) => id,
  }),
  type: fc.constantFrom('image', 'google', 'map_vendor'),
  view: fc.constantFrom('hybrid', 'roadmap', 'satellite', 'terrain', null),
  wall_path: optional({ coordinate: text, nodes }),
  wayfinding: optional({ mapvendor: vendor, micello: vendor, snap_to_path: fc.boolean() }),
  wayfinding_path: optional({ coordinate: text, nodes }),
  width: whole,
  width_m: real,
}

describe('a map body', () => {
  it('accepts and keeps every combination of fields that the table allows', () => {
    fc.assert(
      fc.property(fc.record(allowed, { requiredKeys: [] }), (body) => {
        expect(refusedFor(body)).toBeNull()
        expect(mergeMap({}, body)).toEqual(body)
      }),
    )
  })

  it('accepts unknown keys with any content', () => {
    const unknown = fc.dictionary(
      fc.string().map((key) => `x_${key}`),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(unknown, (body) => {
        expect(refusedFor(body)).toBeNull()
      }),
    )
  })

  it('is refused if a value has another type, with the name of its field', () => {
    const field = fc.constantFrom(...Object.keys(allowed))
    const wrong: Record<string, unknown[]> = { text: [1, true, null, [], {}], other: ['', [[]], 'x'] }
    const texts = new Set(['name', 'group_name', 'type', 'view', 'mapstack_id'])
    fc.assert(
      fc.property(field, fc.nat(), (name, pick) => {
        const values = (texts.has(name) ? wrong['text'] : wrong['other']) ?? []
        const value = values[pick % values.length]
        if (name === 'view' && value === null) return
        expect(refusedFor({ [name]: value })?.split('.')[0]).toBe(name)
      }),
    )
  })

  it.each([
    ['orientation', { orientation: 360 }],
    ['orientation', { orientation: -1 }],
    ['orientation', { orientation: 1.5 }],
    ['mapstack_floor', { mapstack_floor: -1 }],
    ['mapstack_floor', { mapstack_floor: 0.5 }],
    ['mapstack_id', { mapstack_id: 'tower' }],
    ['width', { width: 1e300 }],
    ['ppm', { ppm: Infinity }],
    ['type', { type: 'vector' }],
    ['view', { view: 'moon' }],
    ['latlng_tl.lat', { latlng_tl: { lat: 37.3 } }],
    ['geofences.0.vertices.1.X', { geofences: [{ vertices: [{}, { X: '1' }] }] }],
    ['wall_path.nodes.0.position.y', { wall_path: { nodes: [{ position: { x: 1, y: '2' } }] } }],
    ['wall_path.nodes.0.edges.N2', { wall_path: { nodes: [{ edges: { N2: 1 } }] } }],
    ['sitesurvey_path.0.id', { sitesurvey_path: [{ id: 'first' }] }],
    ['sitesurvey_path.0.nodes.0.name', { sitesurvey_path: [{ nodes: [{ name: 1 }] }] }],
    ['wayfinding.mapvendor.default_level_id', { wayfinding: { mapvendor: { default_level_id: 'a' } } }],
    ['wayfinding.micello.account_key', { wayfinding: { micello: { account_key: 1 } } }],
    ['wayfinding.snap_to_path', { wayfinding: { snap_to_path: 'yes' } }],
  ])('names %s', (field, body) => expect(refusedFor(body)).toBe(field))

  it("can't set the fields of the service", () => {
    const own = ['id', 'org_id', 'site_id', 'created_time', 'modified_time', 'for_site', 'url', 'thumbnail_url']
    const body = Object.fromEntries(own.map((name) => [name, 'theirs']))
    expect(mergeMap({ name: 'kept' }, body)).toEqual({ name: 'kept' })
  })

  it('unsets any existing field, and only that', () => {
    fc.assert(
      fc.property(fc.record(allowed), fc.constantFrom(...Object.keys(allowed)), (before, name) => {
        const { [name]: _gone, ...rest } = before as Record<string, unknown>
        expect(mergeMap(before, { [`-${name}`]: '' })).toEqual(rest)
      }),
    )
  })
})
