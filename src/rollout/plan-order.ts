import { createHmac } from 'node:crypto'

export interface Orderable {
  /** Twelve lower-case hex digits. */
  readonly mac: string
  readonly model: string
  readonly fromVersion: string | null
  readonly connected: boolean
}

/**
 * The order in which targets are upgraded: those online first, then in turn from each (model, running
 * version), so that the first few cover all kinds there are. Ties are broken by a hash with the
 * upgrade's id, so that it is not always the same devices that go first.
 *
 * @param upgradeId Id of the site upgrade: the same id and targets give the same order.
 */
export function planOrder<T extends Orderable>(upgradeId: string, targets: readonly T[]): T[] {
  const rank = new Map(targets.map(({ mac }) => [mac, createHmac('sha256', upgradeId).update(mac).digest('hex')]))
  const byRank = targets.toSorted((a, b) => ((rank.get(a.mac) ?? '') < (rank.get(b.mac) ?? '') ? -1 : 1))
  return [
    ...takeTurns(byRank.filter(({ connected }) => connected)),
    ...takeTurns(byRank.filter(({ connected }) => !connected)),
  ]
}

/** The first of each kind, then the second of each, and so on; kinds in the order of their first. */
function takeTurns<T extends Orderable>(targets: readonly T[]): T[] {
  const kinds = [...Map.groupBy(targets, ({ model, fromVersion }) => JSON.stringify([model, fromVersion])).values()]
  const turns = targets.length === 0 ? 0 : Math.max(...kinds.map((kind) => kind.length))
  return Array.from({ length: turns }, (_, turn) => kinds.flatMap((kind) => kind[turn] ?? [])).flat()
}
