import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MapDevice } from '../../devices/store-placement.ts'
import { type PlacementInput, namesOf, planPlacements } from './plan-placements.ts'
import type { ImportWish, PlannedAp } from './project.ts'

const SITE = 'here'
const wish: ImportWish = { allFloors: false, heights: true, orientations: true, macs: new Map() }
const floor = {
  floor: { id: 'f', name: 'F', picture: 'p', note: null, size: { width: 100, height: 50 }, meters: 0.1 },
  mapId: 'm',
  width: 200,
  height: 200,
}

function ap(name: string, more: Partial<PlannedAp> = {}): PlannedAp {
  return { floorId: 'f', name, x: 10, y: 10, height: null, orientationDegrees: null, ...more }
}

function device(mac: string, more: Partial<MapDevice> = {}): MapDevice {
  return { id: `id-${mac}`, mac, type: 'ap', name: null, siteId: SITE, doc: {}, ...more }
}

function plan(accessPoints: PlannedAp[], devices: MapDevice[], more: Partial<PlacementInput> = {}) {
  return planPlacements({ accessPoints, devices, floors: [floor], siteId: SITE, mayAssign: true, wish, ...more })
}

const MAC = '5c5b35000001'

describe('planPlacements', () => {
  it('places devices in pixels of the image', () => {
    const { placements } = plan([ap(MAC, { height: 2.5, orientationDegrees: 725.4 })], [device(MAC)])
    const fields = { map_id: 'm', x: 20, y: 40, height: 2.5, orientation: 5 }
    expect(placements).toEqual([{ id: `id-${MAC}`, fields }])
  })

  it.each(['5C:5B:35:00:00:01', ` ${MAC} `, `Lobby - 5c-5b-35-00-00-01`])('finds a MAC in %j', (name) => {
    expect(namesOf([ap(name)], wish)).toEqual({ macs: [MAC], names: [] })
    expect(plan([ap(name)], [device(MAC)]).reports).toMatchObject([{ mac: MAC, action: 'placed' }])
  })

  it('prefers the list to the name, and renames accordingly', () => {
    const listed = { ...wish, macs: new Map([['Hall', MAC]]) }
    const other = device('5c5b35000002', { name: 'Hall' })
    const { placements, reports } = plan([ap('Hall')], [other, device(MAC)], { wish: listed })
    expect(placements).toMatchObject([{ id: `id-${MAC}`, name: 'Hall' }])
    expect(reports).toMatchObject([{ action: 'named-placed' }])
  })

  it('assigns devices without a site, unless the caller may not', () => {
    const spare = device(MAC, { siteId: null })
    expect(plan([ap(MAC)], [spare])).toMatchObject({ assigned: [spare], reports: [{ action: 'assigned-placed' }] })
    const held = plan([ap(MAC)], [spare], { mayAssign: false })
    expect(held).toMatchObject({ assigned: [], placements: [], reports: [{ action: 'ignored' }] })
  })

  it('does not choose between two devices with the same name', () => {
    const { reports } = plan([ap('A')], [device('1', { name: 'A' }), device('2', { name: 'A' })])
    expect(reports).toMatchObject([{ action: 'ignored', mac: null }])
  })

  it('places every device at most once, and reports every access point of the floors', () => {
    const names = fc.constantFrom('a', 'b', MAC, `x ${MAC}`, '')
    const sites = fc.constantFrom(SITE, 'elsewhere', null)
    const devices = fc.uniqueArray(
      fc.record({ mac: fc.constantFrom(MAC, '020000000001', '020000000002'), name: names, siteId: sites }),
      { selector: ({ mac }) => mac },
    )
    fc.assert(
      fc.property(fc.array(names), devices, fc.boolean(), (aps, known, mayAssign) => {
        const made = known.map(({ mac, ...more }) => device(mac, more))
        const { placements, reports, assigned } = plan(
          aps.map((name) => ap(name)),
          made,
          { mayAssign },
        )
        expect(reports).toHaveLength(aps.length)
        expect(new Set(placements.map(({ id }) => id)).size).toBe(placements.length)
        expect(reports.filter(({ action }) => action !== 'ignored')).toHaveLength(placements.length)
        expect(assigned.every(({ siteId }) => siteId === null && mayAssign)).toBe(true)
        const moved = made.filter(({ id }) => placements.some((placed) => placed.id === id))
        expect(moved.some(({ siteId }) => siteId === 'elsewhere')).toBe(false)
      }),
    )
  })
})
