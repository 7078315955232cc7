import type { Schemas } from '../../../api/client.ts'
import { isRunning, upgradeStates } from '../../upgrade.ts'
import type { TimelineEntry } from '../timeline.ts'
import type { ApplianceUpgrade } from './appliance.ts'

type Logged = Pick<Schemas['AuditLog'], 'timestamp' | 'admin_id' | 'admin_name' | 'message'>
type Lived = Pick<ApplianceUpgrade, 'id' | 'status' | 'created_time' | 'finished_time'>

/**
 * Returns what happened to an upgrade of appliances, the latest first: its creation, what the audit log has about it, and its end.
 * @param log The records whose messages name the upgrade, in any order.
 */
export function applianceTimeline(
  { id, status, created_time: createdAt, finished_time: finishedAt }: Lived,
  log: readonly Logged[],
): readonly TimelineEntry[] {
  const end =
    finishedAt === undefined || isRunning(status)
      ? []
      : [{ at: finishedAt, what: upgradeStates[status].text, detail: '' }]
  const logged = log.toSorted((one, other) => one.timestamp - other.timestamp).map((record) => entryOf(record, id))
  const entries = [{ at: createdAt, what: 'Created', detail: '' }, ...logged, ...end]
  return entries.toSorted((one, other) => one.at - other.at).toReversed()
}

/** The messages of the audit log, whose groups are details, and the words that the timelines of other upgrades have for them. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/^Pause /, 'Paused'],
  [/^Resume /, 'Resumed'],
  [/^Cancel /, 'Cancelled'],
  [/^Hold [^:]*: (.*)/, 'Held'],
  [/^Stop [^:]*: (.*)/, 'Stopped'],
  [/^Retry (.*) of upgrade /, 'Retried'],
  [/^Change upgrade \S+ to (.*)/, 'Changed'],
  [/^Upgrade \S+ takes in (.*)/, 'Appliances joined'],
]

const takeover = /^Upgrade (\S+) takes (.*) over from upgrade /

function entryOf({ timestamp: at, message, ...record }: Logged, id: string): TimelineEntry {
  const [what, found] = wordsOf(message, id)
  // The service itself has no id.
  const by = record.admin_id === null || record.admin_name === null ? '' : `by ${record.admin_name}`
  return { at, what, detail: [by, found].filter((part) => part !== '').join(' · ') }
}

/** Returns what happened and a detail. A message that is not known stays as it is. */
function wordsOf(message: string, id: string): readonly [string, string] {
  const [, winner, taken = ''] = takeover.exec(message) ?? []
  if (winner !== undefined) return [winner === id ? 'Appliances taken over' : 'Appliances taken', taken]
  for (const [pattern, what] of patterns) {
    const match = pattern.exec(message)
    if (match !== null) return [what, match[1] ?? '']
  }
  return [message, '']
}
