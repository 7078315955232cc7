import { useQuery } from '@tanstack/react-query'
import { type Schemas, answerOf, useServer } from '../api/client.ts'
import { EmptyState } from '../display/notices.tsx'
import { Panel } from '../display/panel.tsx'
import { QueryView } from '../display/query-view.tsx'
import { StateMark } from '../display/state-mark.tsx'
import { Ago } from '../display/time.tsx'
import type { Tone } from '../display/tone.ts'
import { type DashboardPlace, OVERVIEW_MS } from './use-counts.ts'

const SHOWN = 6

type Alarm = Schemas['Alarm']

const severities: Readonly<Record<Alarm['severity'], string>> = {
  critical: 'Critical',
  warn: 'Warning',
  info: 'Information',
}

const tones: Readonly<Record<Alarm['severity'], Tone>> = { critical: 'bad', warn: 'warn', info: 'idle' }

/** The latest alarms of a week. */
export function AlarmPanel({ orgId, siteId }: DashboardPlace) {
  const { api } = useServer()
  const latest = { duration: '7d', limit: SHOWN }
  const query = useQuery({
    queryKey: ['alarms', orgId, siteId],
    queryFn: () =>
      siteId === undefined
        ? answerOf(
            api.GET('/api/v1/orgs/{org_id}/alarms/search', { params: { path: { org_id: orgId }, query: latest } }),
          )
        : answerOf(
            api.GET('/api/v1/sites/{site_id}/alarms/search', { params: { path: { site_id: siteId }, query: latest } }),
          ),
    refetchInterval: OVERVIEW_MS,
  })
  return (
    <Panel title="Alarms" aside="7 days">
      <QueryView query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <EmptyState title="No alarms in a week" />
          ) : (
            <ol className="log">
              {results.map((alarm) => (
                <li key={alarm.id}>
                  <div className="log-head">
                    <StateMark tone={alarm.status === 'open' ? tones[alarm.severity] : 'good'}>
                      {alarm.status === 'open' ? severities[alarm.severity] : 'Resolved'}
                    </StateMark>
                    <Ago at={alarm.last_seen} />
                  </div>
                  <p>{alarm.text}</p>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
