import { wakeAfterCommit } from './wakes.ts'

/**
 * The kind of a change, for live watchers. `_left`: the object has left a site; the id is then that of the site, a
 * slash, and that of the object.
 */
export type ChangeKind =
  | 'device'
  | 'device_stats'
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

export interface Change {
  readonly kind: ChangeKind
  readonly orgId: string
  readonly id: string
}

/** Notifies watchers of changes once `tx` has committed. It is a hint: they read the rows. */
export function noteChanges(tx: object, kind: ChangeKind, objects: readonly Omit<Change, 'kind'>[]): void {
  if (objects.length === 0) return
  const hints = objects.map(({ orgId, id }) => `${kind} ${orgId} ${id}`)
  wakeAfterCommit(tx, 'changes', hints)
}

/** Parses the payload of the wake `changes`. */
export function parseChange(hint: string): Change {
  const [kind, orgId = '', id = ''] = hint.split(' ')
  return { kind: kind as ChangeKind, orgId, id }
}
