import { useQueryClient } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import type { paths } from '#openapi'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { type MxedgeService, type MxedgeStats, runningWords, servicesOf } from '../mxedge.ts'

interface ServicePanelProps {
  readonly orgId: string
  readonly stats: MxedgeStats
  readonly mayControl: boolean
}

/** The installed services, with their actions. */
export function ServicePanel({ orgId, stats, mayControl }: ServicePanelProps) {
  const services = servicesOf(stats)
  const canAnswer = stats.status === 'connected'
  return (
    <Panel title="Services" aside={services.length}>
      {services.length === 0 && <EmptyState title="Its agent has reported none yet" />}
      <ol className="log">
        {services.map(([name, service]) => (
          <li key={name} className="image-line">
            <div>
              <p className="image-uses">
                {name} <span className="mono muted">{service.package_version}</span>
              </p>
              <StateMark tone={runningWords[service.running_state].tone}>
                {runningWords[service.running_state].text}
              </StateMark>
            </div>
            <span className="wizard-buttons">
              {mayControl && canAnswer && (
                <ServiceActions orgId={orgId} mxedgeId={stats.id} name={name} service={service} />
              )}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

type Path = paths['/api/v1/orgs/{org_id}/mxedges/{mxedge_id}/services/{name}/{action}']['post']['parameters']['path']
type Action = Path['action']

/** The services that the interface names; an appliance may have others. */
const controllable: readonly Path['name'][] = ['mxagent', 'tunterm', 'radsecproxy', 'mxocproxy', 'mxdas', 'mxnacedge']

const verbs = { start: 'Starts', stop: 'Stops', restart: 'Restarts' } as const satisfies Record<Action, string>

const consequences: Readonly<Record<Action, string | null>> = {
  start: null,
  stop: 'The network is without it until it is started again.',
  restart: 'The network is without it for some seconds.',
}

interface ServiceActionsProps {
  readonly orgId: string
  readonly mxedgeId: string
  readonly name: string
  readonly service: MxedgeService
}

function ServiceActions({ orgId, mxedgeId, name: reported, service }: ServiceActionsProps) {
  const { api } = useServer()
  const queries = useQueryClient()
  const name = controllable.find((known) => known === reported)
  if (name === undefined) return null
  const actions: readonly Action[] = service.running_state === 'running' ? ['restart', 'stop'] : ['start']
  return actions.map((action) => (
    <ConfirmButton
      key={action}
      action={`${action[0]?.toUpperCase() ?? ''}${action.slice(1)} ${name}`}
      {...(action === 'stop' && { isDestructive: true })}
      effect={{
        does: verbs[action],
        counts: [{ count: 1, one: 'service' }],
        name,
        consequences: [consequences[action]],
      }}
      run={async () => {
        const params = { path: { org_id: orgId, mxedge_id: mxedgeId, name, action } }
        await answerOf(api.POST('/api/v1/orgs/{org_id}/mxedges/{mxedge_id}/services/{name}/{action}', { params }))
        await queries.invalidateQueries({ queryKey: ['mxedge commands', mxedgeId] })
      }}
    />
  ))
}
