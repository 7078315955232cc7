import type { Schemas } from '../api/client.ts'
import { macText } from '../devices/device.ts'
import type { Tone } from '../display/tone.ts'
import { keysOf } from '../display/keys-of.ts'

/** The record of an upgrade of devices or routers, as far as both have the same. */
export type Upgrade = Pick<Schemas['OrgUpgrade'], 'upgrades'>
export type Report = Schemas['UpgradeReport']
export type Target = Report['devices'][number]
export type TargetStatus = Target['status']

export interface Words {
  readonly tone: Tone
  readonly text: string
}

/** The states of targets in the order in which a device passes them; failures come first. */
export const targetStates: Readonly<Record<TargetStatus, Words>> = {
  failed: { tone: 'bad', text: 'Failed' },
  reboot_in_progress: { tone: 'busy', text: 'Rebooting' },
  rebooted: { tone: 'busy', text: 'Verifying' },
  downloading: { tone: 'busy', text: 'Downloading' },
  download_requested: { tone: 'busy', text: 'Download requested' },
  downloaded: { tone: 'busy', text: 'Firmware ready' },
  scheduled: { tone: 'idle', text: 'Waiting' },
  upgraded: { tone: 'good', text: 'Upgraded' },
  skipped: { tone: 'idle', text: 'Skipped' },
  cancelled: { tone: 'warn', text: 'Cancelled' },
  left_out: { tone: 'idle', text: 'Left out' },
}

/** Returns the name of a device, or its MAC address if it has none. */
export function targetText({ name, mac }: { readonly mac: string; readonly name?: string | undefined }): string {
  return name === undefined || name === '' ? macText(mac) : name
}

/** Returns the reason of a target, after why its device was or is being restored; undefined if it has none. */
export function reasonOf({
  reason,
  restoring = false,
  restore_reason: cause,
}: Pick<Target, 'reason' | 'restoring' | 'restore_reason'>): string | undefined {
  if (restoring) return `${reason}: is being restored`
  return cause === undefined ? reason : `${cause}: ${reason}`
}

export const targetStatuses: readonly TargetStatus[] = keysOf(targetStates)

const rank = new Map(targetStatuses.map((status, index) => [status, index]))

/** Orders devices by their states, failures first. */
export function orderByState<T extends Pick<Target, 'status'>>(targets: readonly T[]): readonly T[] {
  return targets.toSorted((one, other) => (rank.get(one.status) ?? 0) - (rank.get(other.status) ?? 0))
}

/** The states of devices that the upgrade has yet to change. */
export const waitingStates = [
  'scheduled',
  'download_requested',
  'downloading',
  'downloaded',
] as const satisfies readonly TargetStatus[]

/** The states of upgrades, of all sites and of one. */
export const upgradeStates: Readonly<Record<Report['status'], Words>> = {
  created: { tone: 'idle', text: 'Created' },
  queued: { tone: 'idle', text: 'Queued' },
  downloading: { tone: 'busy', text: 'Downloading' },
  downloaded: { tone: 'busy', text: 'Downloaded' },
  upgrading: { tone: 'busy', text: 'Upgrading' },
  running: { tone: 'busy', text: 'Running' },
  completed: { tone: 'good', text: 'Completed' },
  failed: { tone: 'bad', text: 'Failed' },
  cancelled: { tone: 'warn', text: 'Cancelled' },
}

/** Returns true until nothing of an upgrade, or of its part at a site, can change any more. */
export function isRunning(status: string): boolean {
  return !['completed', 'failed', 'cancelled'].includes(status)
}

export type Hold = NonNullable<Upgrade['upgrades'][number]['upgrade']['held']>

/** Returns why an upgrade waits; null while it proceeds. All its sites wait for the same. */
export function holdOf({ upgrades }: Upgrade): Hold | null {
  for (const { upgrade } of upgrades) if (upgrade.held !== undefined && isRunning(upgrade.status)) return upgrade.held
  return null
}

/** Returns the number of devices of other upgrades that an upgrade awaits, also after its end. */
export function awaitedOf({ upgrades }: Upgrade): number {
  return upgrades.reduce((sum, { upgrade: { awaited = 0 } }) => sum + awaited, 0)
}

/** A person has paused it, or it waits for a gate. */
function holdText({ by }: Pick<Hold, 'by'>): string {
  return by === 'user' ? 'Paused' : 'Waiting'
}

/**
 * Returns why an upgrade was stopped; null if it was not. While it runs, only its running parts count, and all of them must
 * stop: a part that was stopped earlier keeps its reason when devices of other sites are retried, and a part that stops alone
 * leaves the others as they are. Nothing has stopped a completed one: parts that have lost all their devices keep their reasons.
 * @param status That of the whole upgrade.
 */
export function stopReasonOf({ upgrades }: Upgrade, status: Report['status']): string | null {
  if (status === 'completed') return null
  const running = upgrades.filter(({ upgrade }) => isRunning(upgrade.status))
  if (running.some(({ upgrade }) => upgrade.stop_reason === undefined)) return null
  const parts = running.length > 0 ? running : upgrades
  return parts.find(({ upgrade }) => upgrade.stop_reason !== undefined)?.upgrade.stop_reason ?? null
}

/** What determines the state of a whole upgrade. */
export interface Standing {
  readonly status: Report['status']
  readonly hold: Hold | null
  /** Why the upgrade was stopped; null if it was not. Devices that restart at that time are still awaited. */
  readonly stopReason: string | null
}

/** Returns the state of an upgrade in a word or two. */
export function stateOf({ status, hold, stopReason }: Standing): Words {
  if (!isRunning(status)) return upgradeStates[status]
  if (stopReason !== null) return { tone: 'warn', text: 'Stopping' }
  return hold === null ? upgradeStates[status] : { tone: 'warn', text: holdText(hold) }
}

/** The number of devices in each state. */
export type Counts = ReadonlyMap<TargetStatus, number>

/** Returns the states that devices are in, in their order, with the number of devices. */
export function countsOf({ upgrades }: Upgrade): Counts {
  const counts = new Map<TargetStatus, number>()
  for (const status of targetStatuses) {
    if (status === 'left_out') continue
    const count = upgrades.reduce((sum, { upgrade }) => sum + upgrade.targets[status].length, 0)
    if (count > 0) counts.set(status, count)
  }
  return counts
}
