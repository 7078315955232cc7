import { bucketOf } from '../buckets.ts'
import type { TargetState } from '../../rollout/rollout.ts'
import type { TimelineStep } from '../../rollout/targets/timeline.ts'
import type { TargetCommand, UpgradeTargetDetail } from './store.ts'
import type { TargetEvent } from './store-events.ts'

/** An event of a target, its command or its device. */
export interface TimelineItem {
  readonly at: Date
  readonly kind: 'state' | 'command' | 'event'
  /** A status of a target, a command with its result, or a type of device event. */
  readonly what: string
  readonly cause: string
}

/** Why a target comes to a state, where no reason was recorded. */
const causes = {
  planned: 'The device waits for its phase or for its next attempt',
  deferred: 'The device is offline',
  dl_requested: 'The device was commanded to download',
  downloading: 'The device has begun to download',
  downloaded: 'The device has the image and waits for its reboot',
  reboot_requested: 'The device was commanded to install the image and to reboot',
  rebooting: 'The device installs the image or reboots',
  verifying: 'The device is back with the version',
  snapshotting: 'The device was commanded to take a recovery snapshot',
  rolling_back: 'The device is to return to its backup version',
  upgraded: 'The device runs the version and has stayed connected',
  staged: 'The device has the image',
  failed: 'The device failed',
  skipped: 'The device runs the version already',
  cancelled: 'The upgrade was stopped',
} as const satisfies Record<TargetState, string>

/** Ranks of things with the same timestamp. */
const ranks = { event: 0, state: 1, command: 2 } as const

/** Merges the history of a target by time. */
export function mergeTimeline({ steps, commands, events }: UpgradeTargetDetail): TimelineItem[] {
  const items = [...itemsOfSteps(steps), ...commands.flatMap(itemsOfCommand), ...events.map(itemOfEvent)]
  return items.toSorted((a, b) => a.at.getTime() - b.at.getTime() || ranks[a.kind] - ranks[b.kind])
}

/** A step that leaves the state as it was and has a reason is the end of an attempt. */
function itemsOfSteps(steps: readonly TimelineStep[]): TimelineItem[] {
  return steps.map(({ state, at, reason }, index) => {
    const isAttempt = steps[index - 1]?.state === state && reason !== null
    const cause = isAttempt ? `The attempt ended: ${reason}` : (reason ?? causes[state])
    return { at, kind: 'state', what: bucketOf(state), cause }
  })
}

function itemsOfCommand({
  kind,
  attempt,
  state,
  reason,
  createdAt,
  sentAt,
  finishedAt,
}: TargetCommand): TimelineItem[] {
  const cause = `Attempt ${attempt}`
  const item = (at: Date | null, what: string, why = cause): TimelineItem[] =>
    at === null ? [] : [{ at, kind: 'command', what: `${kind} ${what}`, cause: why }]
  return [
    ...item(createdAt, 'queued'),
    ...item(sentAt, 'sent'),
    ...item(finishedAt, state, reason === null ? cause : `${cause}: ${reason}`),
  ]
}

function itemOfEvent({ at, type, reason, text }: TargetEvent): TimelineItem {
  return { at, kind: 'event', what: type, cause: [reason, text].filter((part) => part !== null).join(': ') }
}
