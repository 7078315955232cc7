import type { DeviceStats } from '../devices/use-live-devices.ts'
import type { Point } from './map.ts'

export interface PlacedDevice {
  readonly stats: DeviceStats
  readonly at: Point
  /** In degrees clockwise; null if it is not set. */
  readonly orientation: number | null
}

export interface Placement {
  readonly placed: readonly PlacedDevice[]
  /** Devices on no plan of the site, and those of this plan that have no position yet. */
  readonly free: readonly DeviceStats[]
  /** The number of devices on other plans. */
  readonly elsewhere: number
}

/** Returns the devices of a site that are on a floor plan, and those that could be put on it. */
export function placementOn(mapId: string, devices: readonly DeviceStats[]): Placement {
  const placed: PlacedDevice[] = []
  const free: DeviceStats[] = []
  let elsewhere = 0
  for (const stats of devices) {
    const { map_id: map, x, y, orientation } = stats
    if (typeof map === 'string' && map !== mapId) elsewhere += 1
    else if (typeof map === 'string' && typeof x === 'number' && typeof y === 'number')
      placed.push({ stats, at: { x, y }, orientation: typeof orientation === 'number' ? orientation : null })
    else free.push(stats)
  }
  return { placed, free, elsewhere }
}
