import { AppError } from '../../platform/errors.ts'
import type { Steps } from '../../platform/queues/next-turn.ts'
import type { RadioFacts, RadioSource } from './radio.ts'

/** Access points that hear each other at this level or above are never restarted together. */
const NEIGHBOR_DBM = -70

/** Signals below this level are of no use to clients, so they make no neighbors. */
const SILENCE_DBM = -85

/** The loss of a signal grows with the distance: -70 dBm at 25 m, which walls of an office make of 20 dBm at 5 GHz. */
const DBM_AT_1_M = -28
const DBM_PER_DECADE = -30
/** The distance at which the signal falls below SILENCE_DBM. */
const REACH_M = 10 ** ((SILENCE_DBM - DBM_AT_1_M) / DBM_PER_DECADE)

/**
 * A site with more pairs within reach has wrong places on its maps: 2,000 access points in one hall are half as many. Each
 * pair of neighbors takes 20 bytes of memory, and each pair that is found by scans takes 65 until all are found.
 */
const MAX_PAIRS = 4_000_000

/** A step takes milliseconds even if each access point has thousands of neighbors. A pause takes a microsecond. */
const FACTS_PER_STEP = 32

/** The radio network of a site. Access points are numbers: their places in the list that was planned. */
export interface RadioGraph {
  /** The access points that must not be restarted together with each one. */
  readonly neighbors: readonly (readonly number[])[]
  /** The higher, the more and the nearer neighbors it has. */
  readonly centrality: readonly number[]
}

type Join = (a: number, b: number, dbm: number) => void

/**
 * Plans the neighborhood of access points. The distance of a pair follows from the scans of the two; if neither has
 * scanned, from the map; else two access points at the same switch count as neighbors.
 * @param facts Those of the access points of one site.
 * @throws AppError invalid if too many pairs are within reach.
 */
export function* planGraphInSteps(facts: readonly RadioFacts[]): Steps<RadioGraph> {
  const neighbors = facts.map((): number[] => [])
  const centrality = facts.map(() => 0)
  let pairs = 0
  const join: Join = (a, b, dbm) => {
    pairs += 1
    if (pairs > MAX_PAIRS) throw tooDense(facts.length)
    const weight = Math.max(0, dbm - SILENCE_DBM)
    centrality[a] = (centrality[a] ?? 0) + weight
    centrality[b] = (centrality[b] ?? 0) + weight
    if (dbm < NEIGHBOR_DBM) return
    neighbors[a]?.push(b)
    neighbors[b]?.push(a)
  }
  yield* joinScannedInSteps(facts, join)
  yield* joinPlacedInSteps(facts, join)
  yield* joinCabledInSteps(facts, join)
  return { neighbors, centrality }
}

function tooDense(count: number): AppError {
  return new AppError(
    'invalid',
    `The strategy rrm can't be planned: of ${count} access points of a site more than ${MAX_PAIRS} pairs are within reach of each other. Correct their places on the map, or choose another strategy`,
  )
}

export function sourceOf({ scan, position, parent }: RadioFacts): RadioSource {
  if (scan !== null) return 'scan'
  if (position !== null) return 'map'
  return parent === null ? 'none' : 'lldp'
}

/** The strongest signal counts, over both directions and all cells. */
function* joinScannedInSteps(facts: readonly RadioFacts[], join: Join): Steps<void> {
  const owners = new Map(facts.flatMap(({ bssids }, index) => bssids.map((bssid) => [bssid, index] as const)))
  // For each access point, those after it. A single map of millions of pairs would hold the event loop up while it grows.
  const levels = facts.map(() => new Map<number, number>())
  let pairs = 0
  for (const [index, { scan }] of facts.entries()) {
    if (index % FACTS_PER_STEP === 0) yield
    for (const { bssid, rssi } of scan ?? []) {
      const other = owners.get(bssid)
      if (other === undefined || other === index || rssi < SILENCE_DBM) continue
      const after = levels[Math.min(index, other)]
      const last = Math.max(index, other)
      const known = after?.get(last)
      if (known === undefined || known < rssi) after?.set(last, rssi)
      if (known === undefined) pairs += 1
      if (pairs > MAX_PAIRS) throw tooDense(facts.length)
    }
  }
  for (const [index, after] of levels.entries()) {
    if (index % FACTS_PER_STEP === 0) yield
    for (const [other, dbm] of after) join(index, other, dbm)
  }
}

interface Point {
  readonly index: number
  readonly x: number
  readonly y: number
}

/** Joins pairs on one floor if neither has scanned. */
function* joinPlacedInSteps(facts: readonly RadioFacts[], join: Join): Steps<void> {
  const squares = new Map<string, Point[]>()
  for (const [index, { position, scan }] of facts.entries()) {
    if (index % FACTS_PER_STEP === 0) yield
    if (position === null || scan !== null) continue
    const { x, y } = position
    // Only the adjacent squares have others within reach.
    const [column, row] = [Math.floor(x / REACH_M), Math.floor(y / REACH_M)]
    for (const dx of [-1, 0, 1])
      for (const dy of [-1, 0, 1])
        for (const other of squares.get(`${position.mapId} ${column + dx} ${row + dy}`) ?? [])
          joinPoints({ index, x, y }, other, join)
    const key = `${position.mapId} ${column} ${row}`
    const square = squares.get(key)
    if (square === undefined) squares.set(key, [{ index, x, y }])
    else square.push({ index, x, y })
  }
}

function joinPoints(a: Point, b: Point, join: Join): void {
  // Math.hypot() takes ten times as long, and a floor has many pairs.
  const meters = Math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)
  if (meters < REACH_M) join(a.index, b.index, DBM_AT_1_M + DBM_PER_DECADE * Math.log10(Math.max(1, meters)))
}

/** Joins pairs at one switch if neither has scanned or is placed. */
function* joinCabledInSteps(facts: readonly RadioFacts[], join: Join): Steps<void> {
  const bySwitch = Map.groupBy(
    [...facts.entries()].filter(([, one]) => sourceOf(one) === 'lldp'),
    ([, { parent }]) => parent,
  )
  for (const some of bySwitch.values()) {
    for (const [place, [a]] of some.entries()) {
      if (place % FACTS_PER_STEP === 0) yield
      for (const [b] of some.slice(place + 1)) join(a, b, NEIGHBOR_DBM)
    }
  }
}

/**
 * Returns how many hops each mesh access point is away from one with a cable; those that no signal connects are one
 * hop away. Null: it has a cable itself.
 */
export function planMeshDepths(
  facts: readonly RadioFacts[],
  { neighbors }: Pick<RadioGraph, 'neighbors'>,
): (number | null)[] {
  const depths: (number | null)[] = facts.map(({ isMesh }) => (isMesh ? 0 : null))
  let level = [...facts.keys()].filter((index) => depths[index] === null)
  for (let depth = 1; level.length > 0; depth += 1) {
    const next: number[] = []
    for (const neighbor of level.flatMap((index) => neighbors[index] ?? [])) {
      if (depths[neighbor] !== 0) continue
      depths[neighbor] = depth
      next.push(neighbor)
    }
    level = next
  }
  return depths.map((depth) => (depth === 0 ? 1 : depth))
}
