import { type Report, isRunning } from './upgrade.ts'

/** What the stream tells of an upgrade: of all of it, or of its part at one site. */
export interface UpgradeChange {
  readonly upgrade_id: string
  readonly site_upgrade_id?: string
  readonly status: Report['status']
  readonly counts: Readonly<Record<'upgraded' | 'failed' | 'skipped' | 'cancelled' | 'total', number>>
}

/**
 * Returns the report with what the message says. Its devices and times come with the next read, and so does the end of
 * an upgrade: it is shown with the devices as they ended.
 */
export function applyChange(report: Report, { site_upgrade_id: siteUpgradeId, status, counts }: UpgradeChange): Report {
  const { upgraded, failed, skipped, cancelled, total } = counts
  if (siteUpgradeId === undefined)
    return { ...report, ...(isRunning(status) && { status }), upgraded, failed, skipped, cancelled, total }
  return {
    ...report,
    sites: report.sites.map((site) =>
      site.site_upgrade_id === siteUpgradeId ? { ...site, ...runningOf(status), upgraded, failed, total } : site,
    ),
  }
}

/** Only whole upgrades are `running`. */
function runningOf(status: Report['status']): { readonly status?: Report['sites'][number]['status'] } {
  return isRunning(status) && status !== 'running' ? { status } : {}
}
