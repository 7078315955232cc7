import { compareText } from '../../firmware/version-order.ts'
import type { Steps } from '../../platform/queues/next-turn.ts'
import { planGraphInSteps, planMeshDepths, sourceOf } from './plan-graph.ts'
import type { RadioFacts, RadioFactsByMac, RadioSource } from './radio.ts'

/** Options of the strategy rrm. Source: spec, "Organization device upgrade request". */
export interface BatchOptions {
  readonly firstPercent: number
  readonly maxPercent: number
  readonly order: 'center_to_fringe' | 'fringe_to_center'
  /** True: batches grow by the first one; false: they double. */
  readonly slowRamp: boolean
  /** `sequential`: one mesh access point after the other; `parallel`: those of one depth together. */
  readonly mesh: 'parallel' | 'sequential'
}

/** Yields the largest allowed sizes of the batches of a site, without end. */
export function* batchSizes(
  total: number,
  { firstPercent, maxPercent, slowRamp }: Omit<BatchOptions, 'order' | 'mesh'>,
): Generator<number, never> {
  const cap = Math.max(1, Math.floor((maxPercent * total) / 100))
  const first = Math.min(cap, Math.max(1, Math.ceil((firstPercent * total) / 100)))
  let size = first
  while (true) {
    yield size
    size = Math.min(cap, slowRamp ? size + first : 2 * size)
  }
}

/**
 * Divides the access points of a site into batches in which no two are radio neighbors. Those whose uplink is another
 * access point come last, the deepest first, so that none is cut off before its turn.
 * @param targets In any order.
 * @throws AppError invalid if too many pairs are within reach.
 */
export function* planBatchesInSteps<T extends { readonly mac: string }>(
  targets: readonly T[],
  { radio, ...options }: BatchOptions & { readonly radio: RadioFactsByMac },
): Steps<T[][]> {
  const known = targets.toSorted((a, b) => compareText(a.mac, b.mac))
  const facts = known.map(({ mac }) => radio.get(mac) ?? nothing)
  const { neighbors, centrality } = yield* planGraphInSteps(facts)
  const depths = planMeshDepths(facts, { neighbors })
  const sign = options.order === 'center_to_fringe' ? -1 : 1
  // The sort is stable, so equals remain in the order of their MACs.
  const ordered = [...known.keys()].toSorted((a, b) => sign * ((centrality[a] ?? 0) - (centrality[b] ?? 0)))
  const sizes = batchSizes(targets.length, options)
  const cabled = ordered.filter((index) => depths[index] === null)
  const byDepth = Map.groupBy(
    ordered.filter((index) => depths[index] !== null),
    (index) => depths[index] ?? 0,
  )
  const deepestFirst = [...byDepth].toSorted(([a], [b]) => b - a).map(([, level]) => level)
  const batches = [yield* fillInSteps(cabled, { sizes, neighbors })]
  for (const level of deepestFirst) {
    const isSequential = options.mesh === 'sequential'
    batches.push(isSequential ? level.map((index) => [index]) : yield* fillInSteps(level, { sizes, neighbors }))
  }
  return batches.flat().map((batch) => batch.flatMap((index) => known[index] ?? []))
}

const nothing: RadioFacts = { bssids: [], scan: null, position: null, parent: null, isMesh: false }

interface Filling {
  readonly sizes: Iterator<number>
  readonly neighbors: readonly (readonly number[])[]
}

/** Fills batch after batch with the first ones that are not neighbors; the others wait for the next batch. */
function* fillInSteps(ordered: readonly number[], { sizes, neighbors }: Filling): Steps<number[][]> {
  const batches: number[][] = []
  let waiting = ordered
  while (waiting.length > 0) {
    const size = Number(sizes.next().value)
    const batch: number[] = []
    const near = new Set<number>()
    const rest: number[] = []
    for (const index of waiting) {
      if (batch.length >= size || near.has(index)) {
        rest.push(index)
        continue
      }
      batch.push(index)
      for (const neighbor of neighbors[index] ?? []) near.add(neighbor)
    }
    batches.push(batch)
    waiting = rest
    yield
  }
  return batches
}

/** Counts the sources of the access points' neighbors, for the record. */
export function countSources(
  targets: readonly { readonly mac: string }[],
  radio: RadioFactsByMac,
): Readonly<Record<RadioSource, number>> {
  const counts = { scan: 0, map: 0, lldp: 0, none: 0 }
  for (const { mac } of targets) counts[sourceOf(radio.get(mac) ?? nothing)] += 1
  return counts
}
