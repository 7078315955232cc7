import { parseMac } from '../../devices/device.ts'
import { wholeDegrees } from '../plan-transform.ts'
import type { DeviceNames, MapDevice, Placement } from '../../devices/store-placement.ts'
import type { Floor, ImportWish, PlannedAp } from './project.ts'

/** A floor that became a map. */
export interface ImportedFloor {
  readonly floor: Floor
  readonly mapId: string
  /** Width of its picture; without one, of the floor in its own units. */
  readonly width: number
  readonly height: number
}

/** Source: contract, `response_map_import_ap`. */
export type PlacementAction = 'assigned-named-placed' | 'assigned-placed' | 'named-placed' | 'placed' | 'ignored'

export interface ApReport {
  readonly ap: PlannedAp
  readonly mapId: string
  /** Twelve hex digits; null if the access point names no known device. */
  readonly mac: string | null
  readonly action: PlacementAction
  /** Set for ignored access points. */
  readonly reason: string | null
  readonly height: number | null
  readonly orientation: number
}

export interface PlacementPlan {
  /** One report for each access point, in their order. */
  readonly reports: readonly ApReport[]
  readonly placements: readonly Placement[]
  /** Devices of the inventory that join the site. */
  readonly assigned: readonly MapDevice[]
}

export interface PlacementInput {
  readonly accessPoints: readonly PlannedAp[]
  readonly floors: readonly ImportedFloor[]
  /** All devices that `namesOf` may name. */
  readonly devices: readonly MapDevice[]
  readonly siteId: string
  /** True if unassigned devices may join this site. */
  readonly mayAssign: boolean
  readonly wish: ImportWish
}

/** Returns the names to search for: MACs in the organization, and names at the site. */
export function namesOf(accessPoints: readonly PlannedAp[], wish: ImportWish): DeviceNames {
  const macs = accessPoints.map((ap) => macOf(ap, wish))
  const names = accessPoints.filter((_ap, index) => macs[index] === null).map(({ name }) => name)
  return { macs: macs.filter((mac) => mac !== null), names: names.filter((name) => name !== '') }
}

/**
 * Returns the MAC that the list gives for the name, or that the name itself contains: all of it, or its end (`Lobby -
 * 5c:5b:35:00:00:01`).
 */
function macOf({ name }: PlannedAp, { macs }: ImportWish): string | null {
  const trimmed = name.trim()
  return macs.get(trimmed) ?? parseMac(trimmed) ?? parseMac(trimmed.split(/\s/).at(-1) ?? '')
}

/** Plans the place of each device. A device is placed once, by the first access point that names it. */
export function planPlacements(input: PlacementInput): PlacementPlan {
  const floors = new Map(input.floors.map((floor) => [floor.floor.id, floor]))
  const taken = new Set<string>()
  const placements: Placement[] = []
  const assigned: MapDevice[] = []
  const reports = input.accessPoints.flatMap((ap): ApReport[] => {
    const floor = floors.get(ap.floorId)
    if (floor === undefined) return []
    const { device, reason } = choose(ap, input, taken)
    const place = placeOn(floor, ap, input.wish)
    const seen = { ap, mapId: floor.mapId, mac: device?.mac ?? null, ...place.report }
    if (device === null || reason !== null) return [{ ...seen, action: 'ignored', reason }]
    taken.add(device.id)
    const joins = device.siteId === null
    const newName = input.wish.macs.has(ap.name.trim()) && device.name !== ap.name.trim() ? ap.name.trim() : null
    if (joins) assigned.push(device)
    placements.push({ id: device.id, fields: place.fields, ...(newName !== null && { name: newName }) })
    return [{ ...seen, action: actionOf(joins, newName !== null), reason: null }]
  })
  return { reports, placements, assigned }
}

function actionOf(joins: boolean, isNamed: boolean): PlacementAction {
  if (joins) return isNamed ? 'assigned-named-placed' : 'assigned-placed'
  return isNamed ? 'named-placed' : 'placed'
}

/** Returns the named device and the reason why it is not placed; null if it may be. */
function choose(
  ap: PlannedAp,
  { devices, siteId, mayAssign, wish }: PlacementInput,
  taken: ReadonlySet<string>,
): { readonly device: MapDevice | null; readonly reason: string | null } {
  const mac = macOf(ap, wish)
  const [device = null, another] =
    mac === null
      ? devices.filter(({ name, siteId: at }) => name !== null && name === ap.name && at === siteId)
      : devices.filter((candidate) => candidate.mac === mac)
  if (device === null) return { device, reason: 'no device has this name or MAC' }
  if (another !== undefined) return { device: null, reason: 'several devices of the site have this name' }
  if (taken.has(device.id)) return { device, reason: 'placed already' }
  if (device.siteId === null && !mayAssign) return { device, reason: 'not assigned to this site' }
  if (device.siteId !== null && device.siteId !== siteId) return { device, reason: 'assigned to another site' }
  return { device, reason: device.doc['locked'] === true ? 'locked' : null }
}

/** Finer than any mounting position. */
const PRECISION = 1000

function placeOn({ floor, mapId, width, height }: ImportedFloor, ap: PlannedAp, wish: ImportWish) {
  const { size } = floor
  const x = size === null ? ap.x : (ap.x * width) / size.width
  const y = size === null ? ap.y : (ap.y * height) / size.height
  const heightM = wish.heights ? ap.height : null
  const orientation = wish.orientations && ap.orientationDegrees !== null ? wholeDegrees(ap.orientationDegrees) : null
  return {
    fields: {
      map_id: mapId,
      x: Math.round(x * PRECISION) / PRECISION,
      y: Math.round(y * PRECISION) / PRECISION,
      ...(heightM !== null && { height: heightM }),
      ...(orientation !== null && { orientation }),
    },
    report: { height: heightM, orientation: orientation ?? 0 },
  }
}
