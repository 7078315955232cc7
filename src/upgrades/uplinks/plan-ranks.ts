import type { DeviceType } from '../../events/device-type.ts'
import { compareText } from '../../firmware/version-order.ts'

/** A switch or a gateway, and the devices that it hears by LLDP. */
export interface CabledDevice {
  readonly mac: string
  readonly siteId: string
  readonly type: DeviceType
  /** Twelve lower-case hex digits each. */
  readonly neighbors: readonly string[]
}

/** By MAC: a device restarts before those with a higher rank at its site. */
export type Ranks = ReadonlyMap<string, number>

/**
 * Plans the order in which the devices of a site restart: access points, switches from the edge to the gateway, gateways.
 * Two devices with a cable between them never have the same rank, nor two of which one is reached through the other over
 * devices that are not upgraded.
 *
 * @param devices Those that are upgraded at the site.
 * @param cabled All switches and gateways of the site.
 * @returns Empty if all devices may restart in any order.
 */
export function planRanks(
  devices: readonly { readonly mac: string; readonly type: DeviceType }[],
  cabled: readonly CabledDevice[],
): Ranks {
  // Most sites have access points only.
  if (devices.every(({ type }) => type === 'ap')) return new Map()
  const graph = joinNeighbors(cabled)
  const upgraded = new Set(devices.map(({ mac }) => mac))
  const ranks = new Map<string, number>(devices.flatMap(({ mac, type }) => (type === 'ap' ? [[mac, 1] as const] : [])))
  const lowest = ranks.size > 0 ? 2 : 1
  // A device that is not upgraded passes on what depends on it, but does not restart.
  const place = (mac: string, least: number): void => {
    const below = highest([...(graph.get(mac) ?? [])].flatMap((neighbor) => ranks.get(neighbor) ?? []))
    ranks.set(mac, upgraded.has(mac) ? Math.max(least, 1 + below) : below)
  }
  const distances = findDistances(cabled, graph)
  const ofType = (type: DeviceType): string[] =>
    [...new Set([...cabled, ...devices].filter((device) => device.type === type).map(({ mac }) => mac))].toSorted(
      compareText,
    )
  const edgeFirst = ofType('switch').toSorted((a, b) => (distances.get(b) ?? 0) - (distances.get(a) ?? 0))
  for (const mac of edgeFirst) place(mac, lowest)
  const top = 1 + highest(ranks.values())
  for (const mac of ofType('gateway')) place(mac, top)
  const ofUpgraded = devices.flatMap(({ mac }) => {
    const rank = ranks.get(mac)
    return rank === undefined ? [] : [[mac, rank] as const]
  })
  const isOrdered = new Set(ofUpgraded.map(([, rank]) => rank)).size > 1
  return new Map(isOrdered ? ofUpgraded : [])
}

/** A call of Math.max() with each device of a large site as an argument would exceed the stack. */
function highest(ranks: Iterable<number>): number {
  let found = 0
  for (const rank of ranks) found = Math.max(found, rank)
  return found
}

/** A cable that one of its two ends reports is enough. */
function joinNeighbors(cabled: readonly CabledDevice[]): ReadonlyMap<string, ReadonlySet<string>> {
  const graph = new Map(cabled.map(({ mac }) => [mac, new Set<string>()]))
  for (const { mac, neighbors } of cabled) {
    for (const neighbor of neighbors) {
      if (neighbor === mac || !graph.has(neighbor)) continue
      graph.get(mac)?.add(neighbor)
      graph.get(neighbor)?.add(mac)
    }
  }
  return graph
}

/**
 * Returns the number of cables between each device and a gateway. If no gateway is known, the switch with the most
 * neighbors takes its place.
 */
function findDistances(
  cabled: readonly CabledDevice[],
  graph: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, number> {
  const distances = new Map<string, number>()
  const gateways = cabled.filter(({ type }) => type === 'gateway').map(({ mac }) => mac)
  const byDegree = [...graph]
    .toSorted(([a, ofA], [b, ofB]) => ofB.size - ofA.size || compareText(a, b))
    .map(([mac]) => mac)
  const measureFrom = (roots: readonly string[]): void => {
    let level = roots
    for (let distance = 0; level.length > 0; distance += 1) {
      for (const mac of level) distances.set(mac, distance)
      const next = new Set(level.flatMap((mac) => Array.from(graph.get(mac) ?? [])))
      level = [...next].filter((mac) => !distances.has(mac))
    }
  }
  measureFrom(gateways)
  // A part of the network without a path to a gateway has its own root.
  for (const mac of byDegree) if (!distances.has(mac)) measureFrom([mac])
  return distances
}
