import { wakeAfterCommit } from './wakes.ts'

/**
 * What has changed, for those who watch it live. `_left`: what is no longer in a site; the id is then that of the site,
 * a slash, and that of the object.
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

/** Tells watchers about changes once `tx` has committed. A hint: they read the rows. */
export function noteChanges(tx: object, kind: ChangeKind, objects: readonly Omit<Change, 'kind'>[]): void {
  if (objects.length === 0) return
  const hints = objects.map(({ orgId, id }) => `${kind} ${orgId} ${id}`)
  wakeAfterCommit(tx, 'changes', hints)
}

/** Parses what listeners of the wake `changes` receive. */
export function parseChange(hint: string): Change {
  const [kind, orgId = '', id = ''] = hint.split(' ')
  return { kind: kind as ChangeKind, orgId, id }
}
