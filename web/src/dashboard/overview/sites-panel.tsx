import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { FIRST_ROWS, MoreRows } from '../../display/layout/more-rows.tsx'
import { useMay } from '../../accounts/self.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { Table } from '../../display/layout/table.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { ShareBar } from '../../display/share-bar.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { grouped } from '../../display/texts/counted.ts'
import { timeOfDay } from '../../display/times/times.ts'
import { useNow } from '../../display/times/use-now.ts'
import { NewSiteForm } from '../../orgs/new-site-form.tsx'
import { useSites } from '../../orgs/sites.ts'
import { type SiteRow, orderSites } from './order-sites.ts'
import { SitesMap } from './sites-map.tsx'
import { useCounts } from '../use-counts.ts'

/** The sites, those with devices away first. */
export function SitesPanel({ orgId }: { readonly orgId: string }) {
  const [limit, setLimit] = useState(FIRST_ROWS)
  const sites = useSites(orgId)
  const all = useCounts(orgId, 'site_id').data
  const away = useCounts(orgId, 'site_id', { status: 'disconnected' }).data
  return (
    <Panel title="Sites" aside={sites.data?.size}>
      <QueryView query={sites}>
        {(known) => {
          const rows = orderSites([...known.values()], all ?? new Map(), away ?? new Map())
          if (rows.length === 0) return <NoSites orgId={orgId} />
          return (
            <>
              <SitesMap orgId={orgId} sites={known} rows={rows} />
              <Table
                rows={rows.slice(0, limit)}
                keyOf={({ site }) => site.id}
                columns={[
                  {
                    title: 'Site',
                    renderCell: ({ site }) => (
                      <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId: site.id }} className="name">
                        {site.label}
                      </Link>
                    ),
                  },
                  { title: 'State', renderCell: (row) => <SiteState row={row} /> },
                  { title: 'Devices', cellClassName: 'bar-cell', renderCell: (row) => <SiteBar row={row} /> },
                  {
                    title: 'Local time',
                    className: 'wide',
                    cellClassName: 'muted',
                    renderCell: ({ site }) => <LocalTime zone={site.timezone} />,
                  },
                ]}
              />
              <MoreRows total={rows.length} limit={limit} noun="site" onMore={setLimit} />
              <MoreSites orgId={orgId} />
            </>
          )
        }}
      </QueryView>
    </Panel>
  )
}

function SiteState({ row: { total, away } }: { readonly row: SiteRow }) {
  if (total === 0) return <StateMark tone="idle">Empty</StateMark>
  if (away === 0) return <StateMark tone="good">All connected</StateMark>
  return <StateMark tone="bad">{`${grouped(away)} away`}</StateMark>
}

function SiteBar({ row: { site, total, away } }: { readonly row: SiteRow }) {
  return (
    <>
      <span>{grouped(total)}</span>
      <ShareBar
        label={site.label}
        shares={[
          { name: 'connected', tone: 'good', count: total - away },
          { name: 'disconnected', tone: 'bad', count: away },
        ]}
      />
    </>
  )
}

function LocalTime({ zone }: { readonly zone: string }) {
  return timeOfDay(useNow(10_000), zone)
}

function MoreSites({ orgId }: { readonly orgId: string }) {
  const mayWrite = useMay('write', { orgId })
  const navigate = useNavigate()
  if (!mayWrite) return null
  return (
    <details className="plan-line">
      <summary>Add a site</summary>
      <NewSiteForm
        orgId={orgId}
        onCreated={({ id }) => navigate({ to: '/orgs/$orgId/sites/$siteId', params: { orgId, siteId: id } })}
      />
    </details>
  )
}

function NoSites({ orgId }: { readonly orgId: string }) {
  const mayWrite = useMay('write', { orgId })
  const navigate = useNavigate()
  if (!mayWrite)
    return <EmptyState title="No sites yet">Those who may change the organization can create one.</EmptyState>
  return (
    <>
      <EmptyState title="No sites yet">Create the first one, then claim devices for it.</EmptyState>
      <NewSiteForm orgId={orgId} onCreated={() => navigate({ to: '/orgs/$orgId/claim', params: { orgId } })} />
    </>
  )
}
