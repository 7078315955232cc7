import { choice } from '../../http/lists/filters.ts'
import type { UpgradeStatus } from '../../rollout/rollout.ts'

export const statuses = [
  'cancelled',
  'completed',
  'created',
  'downloaded',
  'downloading',
  'failed',
  'queued',
  'upgrading',
] as const satisfies readonly UpgradeStatus[]

/** Source: contract, `listSiteDeviceUpgrades`. */
export const siteUpgradeFilters = { status: choice(statuses) }
