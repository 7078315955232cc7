import { wakeAfterCommit } from './wakes.ts'

/**
 * The kind of a change, for live watchers. `_left`: the object has left a site; the id is then that of the site, a
 * slash, and that of the object.
 */
export type ChangeKind =
  | 'device'
  | 'device_stats'
  /** What a device reports of its clients: nobody notes it, because it changes with the statistics. */
  | 'device_clients'
  | 'device_left'
  | 'command_end'
  | 'mxedge'
  | 'mxedge_stats'
  | 'mxedge_left'
  | 'alarm'
  /** A whole upgrade of devices or of SSR routers; `site_upgrade`: the part of it at one site. */
  | 'upgrade'
  | 'site_upgrade'
  | 'mxedge_upgrade'

/** Returns the kinds that change with one that was noted, itself included. */
export function kindsWith(noted: ChangeKind): readonly ChangeKind[] {
  return noted === 'device_stats' ? [noted, 'device_clients'] : [noted]
}

export interface Changes {
  readonly kind: ChangeKind
  readonly orgId: string
  /** None: more objects of the organization have changed than are named. */
  readonly ids: readonly string[]
}

/**
 * The number of changes of one kind that are named together. Watchers of more read everything again, which takes less than
 * that many reads.
 */
export const MAX_NAMED = 20_000

/** By transaction: the number of changes of each kind. */
const counts = new WeakMap<object, Map<ChangeKind, number>>()

/** Notifies watchers of changes once `tx` has committed. It is a hint: they read the rows. */
export function noteChanges(
  tx: object,
  kind: ChangeKind,
  objects: readonly { readonly orgId: string; readonly id: string }[],
): void {
  if (objects.length === 0) return
  const known = counts.get(tx) ?? new Map<ChangeKind, number>()
  counts.set(tx, known)
  const count = (known.get(kind) ?? 0) + objects.length
  known.set(kind, count)
  // A text for each object would cost more than all else that a wake does.
  const hints = [...Map.groupBy(objects, ({ orgId }) => orgId)].map(([orgId, some]) => {
    return [kind, orgId, ...(count > MAX_NAMED ? [] : some.map(({ id }) => id))].join(' ')
  })
  wakeAfterCommit(tx, 'changes', hints)
}

/** Ends the counting of a transaction that has ended; see endCollection(). */
export function endCounting(tx: object): void {
  counts.delete(tx)
}

/** Parses the payload of the wake `changes`. */
export function parseChanges(hint: string): Changes {
  const [kind, orgId = '', ...ids] = hint.split(' ')
  return { kind: kind as ChangeKind, orgId, ids }
}
