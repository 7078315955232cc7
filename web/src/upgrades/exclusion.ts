import { counted } from '../display/texts/counted.ts'
import type { Effect } from '../display/forms/effect.ts'
import { type Target, type TargetStatus, isRunning, waitingStates } from './upgrade.ts'

const excludable: ReadonlySet<TargetStatus> = new Set(waitingStates)

/** Returns those of the targets that a person may exclude. An upgrade that has ended changes none any more. */
export function excludableOf<T extends Pick<Target, 'status'>>(
  { status }: { readonly status: string },
  targets: readonly T[],
): readonly T[] {
  return isRunning(status) ? targets.filter((target) => excludable.has(target.status)) : []
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
