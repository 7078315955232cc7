import { counted } from '../display/texts/counted.ts'
import type { Effect } from '../display/forms/effect.ts'
import { type Report, type Target, type TargetStatus, isRunning, waitingStates } from './upgrade.ts'

const waiting: ReadonlySet<TargetStatus> = new Set(waitingStates)

/** True until the device installs or has ended in the upgrade. */
export function isWaiting({ status }: Pick<Target, 'status'>): boolean {
  return waiting.has(status)
}

/** True if an upgrade still begins with what waits: one that stops or has ended changes nothing more. */
export function begins({
  status,
  stop_reason: stopReason,
}: {
  readonly status: string
  readonly stop_reason?: string
}): boolean {
  return isRunning(status) && stopReason === undefined
}

/** The part of an upgrade at a site, and why it was stopped. */
type Part = Pick<Report['sites'][number], 'site_id' | 'reason'>

/** Returns those of the targets that a person may exclude, because the upgrade would change them. */
export function excludableOf<T extends Pick<Target, 'status' | 'site_id'>>(
  { status, sites }: { readonly status: string; readonly sites: readonly Part[] },
  targets: readonly T[],
): readonly T[] {
  if (!isRunning(status)) return []
  const stopped = new Set(sites.flatMap(({ site_id: id, reason }) => (reason === undefined ? [] : [id])))
  return targets.filter((target) => isWaiting(target) && !stopped.has(target.site_id))
}

/** @param unit What one of them is called. @param name The name of the only one. */
export function exclusionEffect(count: number, unit: string, name?: string): Effect {
  const they = count === 1 ? 'It is' : 'They are'
  return {
    does: 'Excludes',
    counts: [{ count, one: unit }],
    name,
    consequences: [
      `${they} commanded no more, and the upgrade goes on with the others.`,
      `${they} free for another upgrade at once.`,
    ],
    isFinal: true,
  }
}

interface Skipped {
  readonly reason: string
  readonly total: number
}

/** Returns what an exclusion has left as it was, because it changed since the page showed it; null: nothing. */
export function skippedText(skipped: readonly Skipped[], unit: string): string | null {
  if (skipped.length === 0) return null
  const parts = skipped.map(({ reason, total }) => `${counted(total, unit)} (${reason})`)
  return `Not excluded: ${parts.join(', ')}`
}
