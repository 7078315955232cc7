import { useQuery } from '@tanstack/react-query'
import { type Schemas, answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/notices.tsx'
import { Panel } from '../../display/panel.tsx'
import { QueryView } from '../../display/query-view.tsx'
import { SiteTime } from '../../display/time.tsx'

const SHOWN = 20

interface DeviceEventsProps {
  readonly orgId: string
  readonly mac: string
  readonly zone: string | undefined
}

/** The events of the last week. */
export function DeviceEvents({ orgId, mac, zone }: DeviceEventsProps) {
  const { api } = useServer()
  const names = useEventNames()
  const query = useQuery({
    queryKey: ['device events', mac],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/devices/events/search', {
          params: { path: { org_id: orgId }, query: { mac, device_type: 'all', duration: '7d', limit: SHOWN } },
        }),
      ),
  })
  return (
    <Panel title="Events" aside="7 days">
      <QueryView query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <EmptyState title="No events in a week" />
          ) : (
            <ol className="log">
              {results.map((event) => (
                <li key={event.id}>
                  <div className="log-head">
                    <span className="log-what">{names.get(event.type) ?? event.type}</span>
                    <SiteTime at={event.timestamp} zone={zone} />
                  </div>
                  {textOf(event) !== '' && <p>{textOf(event)}</p>}
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

function textOf({ text, apfw, port_id: port }: Schemas['DeviceEvent']): string {
  return [text, apfw === undefined ? undefined : `version ${apfw}`, port]
    .filter((part) => part !== undefined)
    .join(' · ')
}

/** Names of the types of events, for people. */
function useEventNames(): ReadonlyMap<string, string> {
  const { api } = useServer()
  const { data } = useQuery({
    queryKey: ['event names'],
    queryFn: () => answerOf(api.GET('/api/v1/const/device_events')),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return new Map(data?.map(({ key, display }) => [key, display]))
}
