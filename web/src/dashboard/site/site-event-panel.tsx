import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { EventList } from '../../devices/event-list.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { OVERVIEW_MS } from '../use-counts.ts'

const SHOWN = 8

interface SiteEventPanelProps {
  readonly orgId: string
  readonly siteId: string
  readonly zone: string | undefined
}

/** The latest events of the devices of a site. */
export function SiteEventPanel({ orgId, siteId, zone }: SiteEventPanelProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['site events', siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/devices/events/search', {
          params: { path: { site_id: siteId }, query: { duration: '7d', limit: SHOWN } },
        }),
      ),
    refetchInterval: OVERVIEW_MS,
  })
  return (
    <Panel title="Events" aside="7 days">
      <QueryView query={query}>{({ results }) => <EventList events={results} zone={zone} orgId={orgId} />}</QueryView>
    </Panel>
  )
}
