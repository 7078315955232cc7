import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { EventList } from '../event-list.tsx'

const SHOWN = 20

interface DeviceEventsProps {
  readonly orgId: string
  readonly mac: string
  readonly zone: string | undefined
}

/** The events of the last week. */
export function DeviceEvents({ orgId, mac, zone }: DeviceEventsProps) {
  const { api } = useServer()
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
      <QueryView query={query}>{({ results }) => <EventList events={results} zone={zone} />}</QueryView>
    </Panel>
  )
}
