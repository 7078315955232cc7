import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type Schemas, answerOf, useServer } from '../api/client.ts'
import { EmptyState } from '../display/layout/notices.tsx'
import { SiteTime } from '../display/times/time.tsx'
import { macText } from './device.ts'
import { localText } from '../display/times/local-text.ts'

type DeviceEvent = Schemas['DeviceEvent']

interface EventListProps {
  readonly events: readonly DeviceEvent[]
  readonly zone: string | undefined
  /** Given where the events are those of several devices of an organization. */
  readonly orgId?: string
}

/** Events of devices, in the time of their site. */
export function EventList({ events, zone, orgId }: EventListProps) {
  const names = useEventNames()
  if (events.length === 0) return <EmptyState title="No events in a week" />
  return (
    <ol className="log">
      {events.map((event) => (
        <li key={event.id}>
          <div className="log-head">
            <span className="log-what">{names.get(event.type) ?? event.type}</span>
            <SiteTime at={event.timestamp} zone={zone} />
          </div>
          {orgId !== undefined && event.site_id !== undefined && (
            <p>
              <Link
                to="/orgs/$orgId/sites/$siteId/devices/$mac"
                params={{ orgId, siteId: event.site_id, mac: event.mac }}
              >
                <span title={macText(event.mac)}>{nameOf(event)}</span>
              </Link>
            </p>
          )}
          {textOf(event) !== '' && <p>{localText(textOf(event), zone)}</p>}
        </li>
      ))}
    </ol>
  )
}

/** A device without a name has its address as one. */
function nameOf({ device_name: name, mac }: DeviceEvent): string {
  return name === undefined || name === mac ? macText(mac) : name
}

function textOf({ text, apfw, port_id: port }: DeviceEvent): string {
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
