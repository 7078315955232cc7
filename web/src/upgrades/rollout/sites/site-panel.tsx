import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { FIRST_ROWS, MoreRows } from '../../../display/layout/more-rows.tsx'
import { Panel } from '../../../display/layout/panel.tsx'
import { StateMark } from '../../../display/state-mark.tsx'
import { grouped } from '../../../display/texts/counted.ts'
import { SiteTimeOfDay } from '../../../display/times/time.tsx'
import { duration } from '../../../display/times/times.ts'
import type { Site } from '../../../orgs/sites.ts'
import type { Tone } from '../../../display/tone.ts'
import { useNow } from '../../../display/times/use-now.ts'
import { type Report, type Upgrade, isRunning, upgradeStates } from '../../upgrade.ts'
import { type Span, spanSites } from './site-spans.ts'

interface SitePanelProps {
  readonly orgId: string
  readonly report: Report
  readonly upgrade: Upgrade
  readonly sites: ReadonlyMap<string, Site> | undefined
}

/** The progress of each site, with its start in its own time zone and its share of the whole time. */
export function SitePanel({ orgId, report, upgrade, sites }: SitePanelProps) {
  const now = useNow()
  const [limit, setLimit] = useState(FIRST_ROWS)
  const planned = new Map(upgrade.upgrades.map(({ site_id: siteId, upgrade: one }) => [siteId, one.start_time]))
  const waits = new Map(upgrade.upgrades.map(({ site_id: siteId, upgrade: one }) => [siteId, one.waits_until]))
  const startOf = (site: ReportedSite): number | undefined => site.started_at ?? planned.get(site.site_id)
  const rows = order(report.sites)
  const spans = spanSites(
    rows.map((site) => ({ siteId: site.site_id, start: startOf(site), end: site.ended_at })),
    now,
  )
  return (
    <Panel title="Sites" aside={report.sites.length}>
      <div className="table-scroller">
        <table>
          <thead>
            <tr>
              <th scope="col">Site</th>
              <th scope="col">State</th>
              <th scope="col">Upgraded</th>
              <th scope="col" className="wide">
                Longest outage
              </th>
              <th scope="col">Start</th>
              <th scope="col" className="wide">
                Time
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((site) => {
              const { tone, text } = upgradeStates[site.status]
              const start = startOf(site)
              const opensAt = waits.get(site.site_id)
              const zone = sites?.get(site.site_id)?.timezone
              return (
                <tr key={site.site_id}>
                  <th scope="row">
                    {sites?.has(site.site_id) === true ? (
                      <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId: site.site_id }} className="name">
                        {site.site_name}
                      </Link>
                    ) : (
                      <span className="name">{site.site_name ?? 'A deleted site'}</span>
                    )}
                  </th>
                  <td>
                    <StateMark tone={tone}>{text}</StateMark>
                    {opensAt !== undefined && (
                      <span className="muted">
                        {' '}
                        · its window opens <SiteTimeOfDay at={opensAt} zone={zone} />
                      </span>
                    )}
                  </td>
                  <td>
                    <span className="unbroken">
                      {grouped(site.upgraded)} of {grouped(site.total)}
                    </span>{' '}
                    {site.failed > 0 && (
                      <strong className="bad">
                        ·{' '}
                        <Link
                          to="/orgs/$orgId/upgrades/$upgradeId"
                          params={{ orgId, upgradeId: report.upgrade_id }}
                          search={{ state: 'failed', at: site.site_id, site: site.site_id }}
                          hash="devices"
                          aria-label={`${grouped(site.failed)} failed at ${site.site_name ?? 'a deleted site'}`}
                        >
                          {grouped(site.failed)} failed
                        </Link>
                      </strong>
                    )}
                  </td>
                  <td className="wide">{site.downtime.devices === 0 ? '–' : duration(site.downtime.longest)}</td>
                  <td>{start === undefined ? '–' : <SiteTimeOfDay at={start} zone={zone} />}</td>
                  <td className="wide">
                    <SpanBar span={spans.get(site.site_id)} tone={tone} />
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <MoreRows total={rows.length} limit={limit} noun="site" onMore={setLimit} />
    </Panel>
  )
}

type ReportedSite = Report['sites'][number]

/** Puts sites with failures first, then those that are under way. */
function order(sites: readonly ReportedSite[]): readonly ReportedSite[] {
  const rank = ({ failed, status }: ReportedSite): number => (failed > 0 ? 0 : isRunning(status) ? 1 : 2)
  return sites.toSorted((one, other) => rank(one) - rank(other) || other.failed - one.failed)
}

/** When it was the turn of a site, within the time that all of them take. The columns beside it say the same in words. */
function SpanBar({ span, tone }: { readonly span: Span | undefined; readonly tone: Tone }) {
  if (span === undefined) return null
  const place = { insetInlineStart: `${100 * span.from}%`, width: `${100 * (span.to - span.from)}%` }
  return (
    <span className="span-bar" aria-hidden="true">
      <span data-tone={tone} style={place} />
    </span>
  )
}
