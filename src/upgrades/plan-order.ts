import { createHmac } from 'node:crypto'

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
export function planOrder<T extends Orderable>(upgradeId: string, targets: readonly T[]): T[] {
  const byRank = targets
    .map((target) => ({ target, rank: createHmac('sha256', upgradeId).update(target.mac).digest('hex') }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ target }) => target)
  return [
    ...takeTurns(byRank.filter(({ connected }) => connected)),
    ...takeTurns(byRank.filter(({ connected }) => !connected)),
  ]
}

/** The first of each kind, then the second of each, and so on; kinds in the order of their first. */
function takeTurns<T extends Orderable>(targets: readonly T[]): T[] {
  const turns: T[][] = []
  for (const kind of Map.groupBy(targets, ({ model, fromVersion }) => JSON.stringify([model, fromVersion])).values())
    for (const [turn, target] of kind.entries()) (turns[turn] ??= []).push(target)
  return turns.flat()
}
