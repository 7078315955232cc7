import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { FIRST_ROWS, MoreRows } from '../../display/layout/more-rows.tsx'
import { useMay } from '../../accounts/self.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
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
              <div className="table-scroller">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Site</th>
                      <th scope="col">State</th>
                      <th scope="col">Devices</th>
                      <th scope="col" className="wide">
                        Local time
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.slice(0, limit).map((row) => (
                      <SiteLine key={row.site.id} orgId={orgId} row={row} />
                    ))}
                  </tbody>
                </table>
              </div>
              <MoreRows total={rows.length} limit={limit} noun="site" onMore={setLimit} />
              <MoreSites orgId={orgId} />
            </>
          )
        }}
      </QueryView>
    </Panel>
  )
}

function SiteLine({ orgId, row: { site, total, away } }: { readonly orgId: string; readonly row: SiteRow }) {
  const now = useNow(10_000)
  return (
    <tr>
      <th scope="row">
        <Link to="/orgs/$orgId/sites/$siteId" params={{ orgId, siteId: site.id }} className="name">
          {site.name}
        </Link>
      </th>
      <td>
        {total === 0 ? (
          <StateMark tone="idle">Empty</StateMark>
        ) : away === 0 ? (
          <StateMark tone="good">All connected</StateMark>
        ) : (
          <StateMark tone="bad">{`${grouped(away)} away`}</StateMark>
        )}
      </td>
      <td className="bar-cell">
        <span>{grouped(total)}</span>
        <ShareBar
          label={site.name}
          shares={[
            { name: 'connected', tone: 'good', count: total - away },
            { name: 'disconnected', tone: 'bad', count: away },
          ]}
        />
      </td>
      <td className="wide muted">{timeOfDay(now, site.timezone)}</td>
    </tr>
  )
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
