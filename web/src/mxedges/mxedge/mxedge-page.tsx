import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { DeletedNote } from '../../display/layout/deleted-note.tsx'
import { Facts } from '../../display/layout/facts.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { TextZone } from '../../display/times/text-zone.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { Ago } from '../../display/times/time.tsx'
import { duration } from '../../display/times/times.ts'
import { useSites } from '../../orgs/sites.ts'
import { type MxedgeStats, stateOf } from '../mxedge.ts'
import { useLiveMxedges } from '../use-live-mxedges.ts'
import { CommandPanel } from './command-panel.tsx'
import { EventPanel } from './event-panel.tsx'
import { ReplacePanel } from './replace-panel.tsx'
import { ServicePanel } from './service-panel.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/edges/$mxedgeId')

/** An edge appliance: its report, its services, and its replacement. */
export function MxedgePage() {
  const { orgId, mxedgeId } = route.useParams()
  const query = useStats(orgId, mxedgeId)
  return (
    <QueryView query={query} rows={8} missing={<MissingMxedge orgId={orgId} />}>
      {(stats) => <MxedgeView orgId={orgId} stats={stats} />}
    </QueryView>
  )
}

function MissingMxedge({ orgId }: { readonly orgId: string }) {
  return (
    <>
      <PageTitle
        title="No such edge appliance"
        above={
          <Link to="/orgs/$orgId/edges" params={{ orgId }}>
            Edge appliances
          </Link>
        }
      />
      <DeletedNote orgId={orgId} noun="edge appliance" message="Delete edge appliance" />
    </>
  )
}

function useStats(orgId: string, mxedgeId: string) {
  const { api } = useServer()
  const queries = useQueryClient()
  const queryKey = ['mxedge stats', orgId, mxedgeId]
  const params = { path: { org_id: orgId, mxedge_id: mxedgeId } }
  useLiveMxedges(orgId, {
    onChange(stats) {
      if (stats.id !== mxedgeId) return
      queries.setQueryData(queryKey, stats)
      void queries.invalidateQueries({ queryKey: ['mxedge commands', mxedgeId] })
      void queries.invalidateQueries({ queryKey: ['mxedge events', mxedgeId] })
    },
    onGap: () => void queries.invalidateQueries({ queryKey }),
  })
  return useQuery({
    queryKey,
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/stats/mxedges/{mxedge_id}', { params })),
  })
}

function MxedgeView({ orgId, stats }: { readonly orgId: string; readonly stats: MxedgeStats }) {
  const { site_id: siteId } = stats
  const place = { orgId, ...(siteId !== undefined && { siteId }) }
  const mayWrite = useMay('write', place)
  const site = useSites(orgId).data?.get(siteId ?? '')
  const { tone, text } = stateOf(stats)
  return (
    <TextZone value={site?.timezone}>
      <PageTitle
        title={stats.name}
        call={`/orgs/${orgId}/stats/mxedges/${stats.id}`}
        above={
          <Link to="/orgs/$orgId/edges" params={{ orgId }}>
            Edge appliances
          </Link>
        }
      >
        <StateMark tone={tone}>{text}</StateMark>
        <span>{stats.model}</span>
        {site !== undefined && <span>{site.name}</span>}
      </PageTitle>
      <div className="columns">
        <div>
          <FactsPanel stats={stats} />
          <ServicePanel orgId={orgId} stats={stats} mayControl={mayWrite} />
          {mayWrite && <ReplacePanel orgId={orgId} stats={stats} />}
        </div>
        <div>
          <CommandPanel orgId={orgId} mxedgeId={stats.id} zone={site?.timezone} />
          <EventPanel orgId={orgId} mxedgeId={stats.id} zone={site?.timezone} />
        </div>
      </div>
    </TextZone>
  )
}

function FactsPanel({ stats }: { readonly stats: MxedgeStats }) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Serial', stats.serial],
    ['Distribution', stats.distro],
    ['Up for', stats.uptime === undefined ? undefined : duration(stats.uptime)],
    ['Last seen', stats.last_seen === undefined ? undefined : <Ago at={stats.last_seen} />],
    ['Processor', stats.cpu_stat === undefined ? undefined : `${stats.cpu_stat.usage} %`],
    ['Memory', stats.memory_stat === undefined ? undefined : `${stats.memory_stat.usage} %`],
    ['Disk', stats.disk_stat === undefined ? undefined : `${stats.disk_stat.usage} %`],
  ]
  return (
    <Panel title="Facts">
      <Facts facts={facts} />
    </Panel>
  )
}
