import type { Effect } from '../display/forms/effect.ts'
import { counted } from '../display/texts/counted.ts'
import type { Overview } from './overview.ts'

type SiteCounts = Pick<Overview['counts'], 'queued' | 'upgrading' | 'success'>

/** Returns how many the upgrade has yet to end with. Those that download are among those under way. */
export function unfinishedOf({ queued, upgrading }: Omit<SiteCounts, 'success'>): number {
  return queued + upgrading
}

/** Returns what it means to cancel the part of an upgrade at a site. */
export function cancelEffect(counts: SiteCounts, unit: string): Effect {
  const { upgrading, success } = counts
  return {
    does: 'Cancels at this site the upgrade of',
    counts: [{ count: unfinishedOf(counts), one: unit }],
    consequences: [
      upgrading === 0
        ? 'They keep their present firmware.'
        : 'Those that restart already finish it, and the others keep their present firmware.',
      `${counted(success, `${unit} stays`, `${unit}s stay`)} upgraded.`,
    ],
    isFinal: true,
  }
}
