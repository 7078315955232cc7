import type { Schemas } from '../../../api/client.ts'
import { counted } from '../../../display/texts/counted.ts'
import { isRunning, upgradeStates } from '../../upgrade.ts'
import type { PhaseCounts } from '../../phase-counts.ts'
import { type TimelineEntry, placeText, timesOf } from '../timeline/timeline.ts'
import type { ApplianceUpgrade } from '../../appliance.ts'

type Logged = Pick<Schemas['AuditLog'], 'timestamp' | 'admin_id' | 'admin_name' | 'message' | 'after'>
type Lived = Pick<ApplianceUpgrade, 'id' | 'status' | 'created_time' | 'finished_time'>

interface Sources {
  /** The records whose messages name the upgrade, in any order. */
  readonly log: readonly Logged[]
  readonly phases: readonly PhaseCounts[]
}

/**
 * Returns what happened to an upgrade of appliances, the latest first: its creation, what the audit log has about it, its phases,
 * and its end.
 */
export function applianceTimeline(
  { id, status, created_time: createdAt, finished_time: finishedAt }: Lived,
  { log, phases }: Sources,
): readonly TimelineEntry[] {
  const end =
    finishedAt === undefined || isRunning(status)
      ? []
      : [{ at: finishedAt, what: upgradeStates[status].text, detail: '' }]
  const logged = log.toSorted((one, other) => one.timestamp - other.timestamp).map((record) => entryOf(record, id))
  const entries = [{ at: createdAt, what: 'Created', detail: '' }, ...phases.flatMap(timesOf), ...logged, ...end]
  return entries.toSorted((one, other) => one.at - other.at).toReversed()
}

/** The types of changes in the words that the timelines of other upgrades have for them. */
const words: Readonly<Record<string, string>> = {
  UPGRADE_PAUSED: 'Paused',
  UPGRADE_RESUMED: 'Resumed',
  UPGRADE_CANCELLED: 'Cancelled',
  UPGRADE_SEARCH_CANCELLED: 'Search cancelled',
  UPGRADE_HELD: 'Held',
  UPGRADE_APPROVED: 'Approved',
  UPGRADE_CHECK_PASSED: 'Check passed',
  UPGRADE_STOPPED: 'Stopped',
  UPGRADE_END_REACHED: 'End reached',
  UPGRADE_RETRIED: 'Retried',
  UPGRADE_CHANGED: 'Changed',
  UPGRADE_MXEDGES_JOINED: 'Appliances joined',
  UPGRADE_MXEDGES_TAKEN: 'Appliances taken',
  UPGRADE_MXEDGES_EXCLUDED: 'Appliances excluded',
}

/** A record without a type that is known stays in its own words, as one of an earlier release does. */
function entryOf({ timestamp: at, message, after = {}, ...record }: Logged, id: string): TimelineEntry {
  const { id: changed, type, reason, total, note, phase } = after
  const known = typeof type === 'string' ? words[type] : undefined
  // A takeover is the change of the upgrade that loses appliances.
  const what = known === undefined ? message : changed === id ? known : `${known} over`
  const details = [
    // The service itself has no id. An upgrade that waits from its creation on was held by nobody.
    record.admin_id === null || record.admin_name === null || type === 'UPGRADE_HELD' ? '' : `by ${record.admin_name}`,
    known !== undefined && typeof total === 'number' ? counted(total, 'appliance') : '',
    known !== undefined && type !== 'UPGRADE_MXEDGES_TAKEN' && typeof reason === 'string' ? reason : '',
    known !== undefined && typeof note === 'string' ? note : '',
  ]
  const place = known !== undefined && typeof phase === 'number' ? placeText(phase) : ''
  return { at, what: `${what}${place}`, detail: details.filter((part) => part !== '').join(' · ') }
}
