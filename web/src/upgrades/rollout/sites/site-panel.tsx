import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { FIRST_ROWS, MoreRows } from '../../../display/layout/more-rows.tsx'
import { Panel } from '../../../display/layout/panel.tsx'
import { Table } from '../../../display/layout/table.tsx'
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
  const zoneOf = (siteId: string): string | undefined => sites?.get(siteId)?.timezone
  const rows = order(report.sites)
  const spans = spanSites(
    rows.map((site) => ({ siteId: site.site_id, start: startOf(site), end: site.ended_at })),
    now,
  )
  return (
    <Panel title="Sites" aside={report.sites.length}>
      <Table
        rows={rows.slice(0, limit)}
        keyOf={({ site_id: id }) => id}
        columns={[
          { title: 'Site', renderCell: (site) => <SiteName orgId={orgId} site={site} sites={sites} /> },
          {
            title: 'State',
            renderCell: ({ site_id: id, status }) => (
              <>
                <StateMark tone={upgradeStates[status].tone}>{upgradeStates[status].text}</StateMark>
                <OpeningTime at={waits.get(id)} zone={zoneOf(id)} />
              </>
            ),
          },
          {
            title: 'Upgraded',
            renderCell: (site) => (
              <>
                <span className="unbroken">
                  {grouped(site.upgraded)} of {grouped(site.total)}
                </span>{' '}
                <Failures orgId={orgId} upgradeId={report.upgrade_id} site={site} />
              </>
            ),
          },
          {
            title: 'Longest outage',
            className: 'wide',
            renderCell: ({ downtime }) => (downtime.devices === 0 ? '–' : duration(downtime.longest)),
          },
          {
            title: 'Start',
            renderCell: (site) => {
              const start = startOf(site)
              return start === undefined ? '–' : <SiteTimeOfDay at={start} zone={zoneOf(site.site_id)} />
            },
          },
          {
            title: 'Time',
            className: 'wide',
            renderCell: ({ site_id: id, status }) => <SpanBar span={spans.get(id)} tone={upgradeStates[status].tone} />,
          },
        ]}
      />
      <MoreRows total={rows.length} limit={limit} noun="site" onMore={setLimit} />
    </Panel>
  )
}

type ReportedSite = Report['sites'][number]

interface SiteNameProps extends Pick<SitePanelProps, 'orgId' | 'sites'> {
  readonly site: ReportedSite
}

function SiteName({ orgId, site: { site_id: siteId, site_name: name }, sites }: SiteNameProps) {
  if (sites?.has(siteId) !== true) return <span className="name">{name ?? 'A deleted site'}</span>
  return (
    <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId }} className="name">
      {name}
    </Link>
  )
}

function OpeningTime({ at, zone }: { readonly at: number | undefined; readonly zone: string | undefined }) {
  if (at === undefined) return null
  return (
    <span className="muted">
      {' '}
      · its window opens <SiteTimeOfDay at={at} zone={zone} />
    </span>
  )
}

interface FailuresProps {
  readonly orgId: string
  readonly upgradeId: string
  readonly site: ReportedSite
}

function Failures({ orgId, upgradeId, site: { site_id: siteId, site_name: name, failed } }: FailuresProps) {
  if (failed === 0) return null
  return (
    <strong className="bad">
      ·{' '}
      <Link
        to="/orgs/$orgId/upgrades/$upgradeId"
        params={{ orgId, upgradeId }}
        search={{ state: 'failed', at: siteId, site: siteId }}
        hash="devices"
        aria-label={`${grouped(failed)} failed at ${name ?? 'a deleted site'}`}
      >
        {grouped(failed)} failed
      </Link>
    </strong>
  )
}

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
