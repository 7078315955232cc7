import type { Steps } from '../../platform/queues/next-turn.ts'

export interface Orderable {
  /** Twelve lower-case hex digits; for an edge appliance, which may have none, its id. */
  readonly mac: string
  readonly model: string
  readonly fromVersion: string | null
  readonly connected: boolean
}

/**
 * Returns the targets in the order of their upgrade: those online first, then in turn from each (model, running
 * version), so that the first few cover all kinds there are. Ties are broken by a hash with the upgrade's id, so that
 * it is not always the same devices that go first.
 *
 * @param upgradeId Id of the upgrade whose phases they are cut into: the same id and targets give the same order.
 */
export function* planOrderInSteps<T extends Orderable>(upgradeId: string, targets: readonly T[]): Steps<T[]> {
  const byRank = yield* inRandomOrder(upgradeId, targets)
  yield
  const online = byRank.filter(({ connected }) => connected)
  const others = byRank.filter(({ connected }) => !connected)
  yield
  return [...(yield* takeTurns(online)), ...(yield* takeTurns(others))]
}

const TARGETS_PER_STEP = 5000

/**
 * Sorts numbers instead of targets, because requests of clients wait for the sort. A number is the upper part of a hash,
 * and the place of its target among `targets`.
 */
function* inRandomOrder<T extends Orderable>(upgradeId: string, targets: readonly T[]): Steps<T[]> {
  const places = 2 ** Math.ceil(Math.log2(Math.max(2, targets.length)))
  const ranks = createRanks(upgradeId, places)
  const keys = new Float64Array(targets.length)
  for (const [place, { mac }] of targets.entries()) {
    keys[place] = ranks(mac) * places + place
    if (place % TARGETS_PER_STEP === 0) yield
  }
  keys.sort()
  yield
  const ordered: T[] = []
  let before = -1
  for (const key of keys) {
    if (ordered.length % TARGETS_PER_STEP === 0) yield
    const rank = Math.floor(key / places)
    const target = targets[key - rank * places]
    if (target === undefined) continue
    ordered.push(target)
    // Few ranks are equal.
    if (rank === before) sortLast(ordered, ({ mac }) => ranks(mac) === rank)
    before = rank
  }
  return ordered
}

/** Sorts the last targets, as far as `isOne` holds, by their MAC. */
function sortLast<T extends Orderable>(ordered: T[], isOne: (target: T) => boolean): void {
  const start = ordered.findLastIndex((target) => !isOne(target)) + 1
  ordered.push(...ordered.splice(start).toSorted((a, b) => (a.mac < b.mac ? -1 : 1)))
}

interface HashState {
  readonly low: number
  readonly high: number
}

/** FNV-1a twice, with different primes. */
function hash(text: string, { low, high }: HashState): HashState {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code, 0x85ebca6b)
  }
  return { low, high }
}

/** Returns a function that hashes a MAC to an integer, which times `places` is exact. */
function createRanks(upgradeId: string, places: number): (mac: string) => number {
  const seed = hash(upgradeId, { low: 0x811c9dc5, high: 0x9e3779b9 })
  const range = 2 ** 53 / places
  return (mac) => {
    const { low, high } = hash(mac, seed)
    // Consecutive MACs differ in the lowest bits only.
    const mixed = Math.imul(low ^ (low >>> 16), 0xc2b2ae35) ^ Math.imul(high ^ (high >>> 13), 0x27d4eb2f)
    const upper = Math.imul(high ^ (mixed >>> 15), 0x9e3779b1)
    return Math.floor((((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32 + (upper >>> 11) / 2 ** 53) * range)
  }
}

/** The first of each kind, then the second of each, and so on; kinds in the order of their first. */
function* takeTurns<T extends Orderable>(targets: readonly T[]): Steps<readonly T[]> {
  const kinds: T[][] = []
  const byModel = new Map<string, Map<string | null, T[]>>()
  for (const [index, target] of targets.entries()) {
    if (index % TARGETS_PER_STEP === 0) yield
    const byVersion = byModel.get(target.model) ?? new Map<string | null, T[]>()
    byModel.set(target.model, byVersion)
    const kind = byVersion.get(target.fromVersion)
    if (kind === undefined) {
      const first = [target]
      byVersion.set(target.fromVersion, first)
      kinds.push(first)
    } else kind.push(target)
  }
  if (kinds.length < 2) return targets
  const turns: T[][] = []
  for (const kind of kinds) {
    for (const [turn, target] of kind.entries()) {
      if (turn % TARGETS_PER_STEP === 0) yield
      const others = turns[turn]
      if (others === undefined) turns[turn] = [target]
      else others.push(target)
    }
  }
  return turns.flat()
}
