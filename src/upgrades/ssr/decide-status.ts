import { type PartStatus, decideWholeEnd } from '../../rollout/decide-whole-status.ts'
import type { UpgradeStatus } from '../../rollout/rollout.ts'
import { countResults } from '../../rollout/rounds/decide-outcome.ts'
import type { SsrSite } from './ssr-upgrade.ts'

type Site = Pick<SsrSite, 'status' | 'counts' | 'only'>

/** Statuses of sites whose upgrade has ended. */
const ended: readonly PartStatus[] = ['failed', 'cancelled', 'completed', 'released']
/** The site that is furthest decides the status of the whole upgrade. */
const underWay: readonly UpgradeStatus[] = ['upgrading', 'downloaded', 'downloading', 'queued', 'created']

/**
 * Decides the status of an upgrade by those of its sites. One that was to download only, and has, is `downloaded`; one
 * that has ended at some of its sites is under way at the others.
 */
export function decideStatus(sites: readonly Site[]): UpgradeStatus {
  const statuses = new Set(sites.map(({ status }) => status))
  const open = underWay.find((status) => statuses.has(status))
  if (open === undefined) {
    const hasResults = sites.some(({ counts }) => countResults(counts) > 0)
    const end = decideWholeEnd({ statuses: [...statuses], hasResults })
    return end === 'completed' && sites.some(({ only, counts }) => only === 'stage' && counts.staged > 0)
      ? 'downloaded'
      : end
  }
  const hasBegun = ended.some((status) => statuses.has(status))
  if (!hasBegun || (open !== 'queued' && open !== 'created')) return open
  return sites.some(({ only }) => only === 'stage') ? 'downloading' : 'upgrading'
}
