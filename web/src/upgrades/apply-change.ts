import { type Report, isRunning } from './upgrade.ts'

/** The stream's message about an upgrade: about the whole upgrade, or its part at one site. */
export interface UpgradeChange {
  readonly upgrade_id: string
  readonly site_upgrade_id?: string
  readonly status: Report['status']
  readonly counts: Readonly<Record<'upgraded' | 'failed' | 'skipped' | 'cancelled' | 'total', number>>
}

/**
 * Returns the report with the content of the message. Its devices and times come with the next read, and so does the
 * end of an upgrade, which is shown together with the final states of the devices.
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

/** Only whole upgrades have the status `running`. */
function runningOf(status: Report['status']): { readonly status?: Report['sites'][number]['status'] } {
  return isRunning(status) && status !== 'running' ? { status } : {}
}
