import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { Panel } from '../../display/panel.tsx'
import type { MxedgeStats } from '../mxedge.ts'

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
            Where the box is broken, let another one take its place. It keeps the name, the site and the configuration
            of {stats.name}.
          </p>
        )}
      </div>
      {!isFree && (
        <p className="panel-buttons">
          <ConfirmButton
            action="Replace the box"
            isDestructive
            effect={`Disconnects the present box of ${stats.name} for good: it is refused from then on, and what runs on it ends for the network until another box has registered.`}
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
