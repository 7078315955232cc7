import { expect, it } from 'vitest'
import type { DeviceStats } from '../devices/use-live-devices.ts'
import { placementOn } from './placement.ts'

const device = (mac: string, place: object): DeviceStats => ({
  id: mac,
  org_id: 'o',
  mac,
  serial: mac,
  model: 'EAP102',
  type: 'ap',
  name: mac,
  status: 'connected',
  created_time: 0,
  modified_time: 0,
  ...place,
})

it('separates devices on a plan, unplaced devices and devices on other plans', () => {
  const placed = device('a', { map_id: 'm', x: 3, y: 0, orientation: 90 })
  const unturned = device('b', { map_id: 'm', x: 0, y: 4 })
  const without = device('c', { map_id: 'm', x: null, y: null })
  const free = device('d', { map_id: null })
  const elsewhere = device('e', { map_id: 'n', x: 1, y: 1 })
  expect(placementOn('m', [placed, unturned, without, free, elsewhere])).toEqual({
    placed: [
      { stats: placed, at: { x: 3, y: 0 }, orientation: 90 },
      { stats: unturned, at: { x: 0, y: 4 }, orientation: null },
    ],
    free: [without, free],
    elsewhere: 1,
  })
})
