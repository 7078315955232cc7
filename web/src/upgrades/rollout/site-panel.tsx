import { Panel } from '../../display/panel.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTimeOfDay } from '../../display/time.tsx'
import { duration } from '../../display/times.ts'
import type { Site } from '../../orgs/sites.ts'
import { type Report, type Upgrade, upgradeStates } from '../upgrade.ts'

interface SitePanelProps {
  readonly report: Report
  readonly upgrade: Upgrade
  readonly sites: ReadonlyMap<string, Site> | undefined
}

/** The progress of each site, with its start in its own time zone. */
export function SitePanel({ report, upgrade, sites }: SitePanelProps) {
  const starts = new Map(upgrade.upgrades.map(({ site_id: siteId, upgrade: one }) => [siteId, one.start_time]))
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
            </tr>
          </thead>
          <tbody>
            {report.sites.map((site) => {
              const { tone, text } = upgradeStates[site.status]
              const start = site.started_at ?? starts.get(site.site_id)
              return (
                <tr key={site.site_id}>
                  <th scope="row">{site.site_name ?? 'A deleted site'}</th>
                  <td>
                    <StateMark tone={tone}>{text}</StateMark>
                  </td>
                  <td>
                    {site.upgraded} of {site.total}
                    {site.failed > 0 && <strong className="bad"> · {site.failed} failed</strong>}
                  </td>
                  <td className="wide">{site.downtime.devices === 0 ? '–' : duration(site.downtime.longest)}</td>
                  <td>
                    {start === undefined ? '–' : <SiteTimeOfDay at={start} zone={sites?.get(site.site_id)?.timezone} />}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
