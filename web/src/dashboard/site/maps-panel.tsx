import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMay } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { RequestForm } from '../../display/forms/request-form.tsx'
import { type SiteMap, picturePath } from '../../maps/map.ts'
import { useMaps, useStacks } from '../../maps/use-maps.ts'

interface MapsPanelProps {
  readonly orgId: string
  readonly siteId: string
}

/** The floor plans of a site; each leads to the devices on it. */
export function MapsPanel({ orgId, siteId }: MapsPanelProps) {
  const maps = useMaps(siteId)
  const stacks = useStacks(siteId).data
  const mayWrite = useMay('write', { orgId, siteId })
  const buildingOf = ({ mapstack_id: id }: SiteMap): string | undefined =>
    stacks?.find((stack) => stack.id === id)?.name
  return (
    <Panel title="Floor plans" aside={maps.data?.length}>
      <QueryView query={maps}>
        {(known) =>
          known.length === 0 ? (
            <EmptyState title="No floor plans yet">
              {mayWrite
                ? 'Add one to see devices and their states where they are.'
                : 'Those who may change the site can add one.'}
            </EmptyState>
          ) : (
            <ul className="plan-list">
              {known.map((map) => (
                <li key={map.id}>
                  <Link to="/orgs/$orgId/sites/$siteId/maps/$mapId" params={{ orgId, siteId, mapId: map.id }}>
                    <span className="plan-thumbnail">
                      {map.url === undefined ? (
                        'No picture'
                      ) : (
                        <img src={picturePath({ url: map.thumbnail_url ?? map.url })} alt="" />
                      )}
                    </span>
                    {map.name ?? 'Floor plan'}
                  </Link>
                  <span className="muted">{buildingOf(map)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
      {mayWrite && <NewMapForm orgId={orgId} siteId={siteId} />}
    </Panel>
  )
}

function NewMapForm({ orgId, siteId }: MapsPanelProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (name: string) =>
      answerOf(api.POST('/api/v1/sites/{site_id}/maps', { params: { path: { site_id: siteId } }, body: { name } })),
    async onSuccess({ id }) {
      await queries.invalidateQueries({ queryKey: ['maps', siteId] })
      await navigate({ to: '/orgs/$orgId/sites/$siteId/maps/$mapId', params: { orgId, siteId, mapId: id } })
    },
  })
  return (
    <RequestForm
      fields={[{ name: 'name', label: 'Name of a new floor plan', required: true }]}
      action="Add the floor plan"
      run={({ name = '' }) => create.mutateAsync(name)}
    />
  )
}
