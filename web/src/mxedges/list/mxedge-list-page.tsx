import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { type Page, answerOf, pageOf, useServer } from '../../api/client.ts'
import { counted } from '../../display/texts/counted.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { PageTitle } from '../../display/layout/page-title.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { useSites } from '../../orgs/sites.ts'
import { type MxedgeStats, servicesOf, stateOf } from '../mxedge.ts'
import { useLiveMxedges } from '../use-live-mxedges.ts'

const route = getRouteApi('/signed-in/orgs/$orgId/edges')

const SHOWN = 50

/** The edge appliances of the organization and their services, live. */
export function MxedgeListPage() {
  const { orgId } = route.useParams()
  const mxedges = useMxedges(orgId)
  const mayWrite = useMay('write', { orgId })
  const pages = mxedges.data?.pages ?? []
  const rows = pages.flatMap((page) => page.rows)
  return (
    <>
      <PageTitle title="Edge appliances" call={`/orgs/${orgId}/stats/mxedges?for_site=any`}>
        <span>{pages[0] === undefined ? ' ' : counted(pages[0].total, 'appliance')}</span>
      </PageTitle>
      {mxedges.data === undefined && mxedges.error === null && <Skeleton rows={4} />}
      {mxedges.data === undefined && <ProblemNote problem={mxedges.error} />}
      {pages[0]?.total === 0 && (
        <EmptyState title="No edge appliances yet">
          {mayWrite
            ? 'Create one: its page has the command that starts the agent on the box, with its code.'
            : 'Those who may change the organization can create one.'}
        </EmptyState>
      )}
      {rows.length > 0 && (
        <ol className="upgrade-list">
          {rows.map((stats) => (
            <MxedgeRow key={stats.id} orgId={orgId} stats={stats} />
          ))}
        </ol>
      )}
      <MoreButton query={mxedges} />
      {mayWrite && mxedges.data !== undefined && <NewMxedgeForm orgId={orgId} />}
    </>
  )
}

/** The box itself registers later, by the code of the new record. */
function NewMxedgeForm({ orgId }: { readonly orgId: string }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  return (
    <Panel title="New edge appliance">
      <RequestForm
        fields={[
          { name: 'name', label: 'Name', required: true },
          { name: 'model', label: 'Model', required: true, value: 'ME-VM' },
        ]}
        action="Create the appliance"
        run={async ({ name = '', model = '' }) => {
          const params = { path: { org_id: orgId } }
          const { id } = await answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges', { params, body: { name, model } }))
          await queries.invalidateQueries({ queryKey: ['mxedges', orgId] })
          await navigate({ to: '/orgs/$orgId/edges/$mxedgeId', params: { orgId, mxedgeId: id } })
        }}
      />
    </Panel>
  )
}

function useMxedges(orgId: string) {
  const { api } = useServer()
  const queries = useQueryClient()
  const queryKey = ['mxedges', orgId]
  useLiveMxedges(orgId, {
    onChange: (stats) =>
      queries.setQueryData<InfiniteData<Page<MxedgeStats>>>(queryKey, (data) => data && withChange(data, stats)),
    onGap: () => void queries.invalidateQueries({ queryKey }),
  })
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: page }) =>
      pageOf(
        api.GET('/api/v1/orgs/{org_id}/stats/mxedges', {
          params: { path: { org_id: orgId }, query: { for_site: 'any', limit: SHOWN, page } },
        }),
      ),
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * SHOWN < total ? pages.length + 1 : undefined),
  })
}

function withChange(data: InfiniteData<Page<MxedgeStats>>, stats: MxedgeStats): InfiniteData<Page<MxedgeStats>> {
  const pages = data.pages.map((page) => ({
    ...page,
    rows: page.rows.map((row) => (row.id === stats.id ? stats : row)),
  }))
  return { ...data, pages }
}

function MxedgeRow({ orgId, stats }: { readonly orgId: string; readonly stats: MxedgeStats }) {
  const site = useSites(orgId).data?.get(stats.site_id ?? '')
  const { tone, text } = stateOf(stats)
  const versions = servicesOf(stats).map(([name, { package_version: version = '' }]) => `${name} ${version}`.trim())
  return (
    <li className="upgrade-row">
      <span>
        <Link to="/orgs/$orgId/edges/$mxedgeId" params={{ orgId, mxedgeId: stats.id }}>
          {stats.name}
        </Link>
        <span className="muted">{[stats.model, site?.name].filter(Boolean).join(' · ')}</span>
      </span>
      <span className="muted">{versions.join(', ')}</span>
      <span className="upgrade-figures muted">
        {stats.cpu_stat === undefined ? '' : `CPU ${stats.cpu_stat.usage} %`}
      </span>
      <StateMark tone={tone}>{text}</StateMark>
    </li>
  )
}
