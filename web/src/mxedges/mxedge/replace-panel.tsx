import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { type MxedgeStats, servicesOf } from '../mxedge.ts'

/** Replaces the appliance: the present one is unregistered, and the agent of the new one gets its code. */
export function ReplacePanel({ orgId, stats }: { readonly orgId: string; readonly stats: MxedgeStats }) {
  const { api } = useServer()
  const queries = useQueryClient()
  const params = { path: { org_id: orgId, mxedge_id: stats.id } }
  const record = useQuery({
    queryKey: ['mxedge', orgId, stats.id],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/mxedges/{mxedge_id}', { params })),
  })
  const code = record.data?.magic
  const isFree = !stats.mxagent_registered
  const running = servicesOf(stats).filter(([, { running_state: state }]) => state === 'running').length
  return (
    <Panel title={isFree ? 'Registration' : 'Replacement'}>
      <div className="plan-line">
        {isFree ? (
          <>
            <p>
              No box has registered as this appliance. Start the agent on one (<code>npm run build-agent</code> writes
              it):
            </p>
            <pre className="once">{`SIGNALBOX_AGENT_CODE=${code ?? '…'} node signalbox-agent.mjs --state /var/lib/signalbox-agent --url ${globalThis.location.origin} --hooks /etc/signalbox-agent/hooks.json`}</pre>
          </>
        ) : (
          <p>
            If the box is broken, another one can take its place. It gets the name, the site and the configuration of{' '}
            {stats.name}.
          </p>
        )}
      </div>
      {!isFree && (
        <p className="panel-buttons">
          <ConfirmButton
            action="Replace the box"
            isDestructive
            effect={{
              does: 'Disconnects',
              counts: [
                { count: 1, one: 'box' },
                { count: running, one: 'running service' },
              ],
              name: stats.name,
              consequences: [
                'The box is refused from then on. The network is without the services until another box has registered.',
              ],
              isFinal: true,
            }}
            run={async () => {
              await answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/{mxedge_id}/restart', { params }))
              await queries.invalidateQueries()
            }}
          />
        </p>
      )}
    </Panel>
  )
}
