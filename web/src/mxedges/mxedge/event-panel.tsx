import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../../api/client.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { localText } from '../../display/times/local-text.ts'

const SHOWN = 20

interface EventPanelProps {
  readonly orgId: string
  readonly mxedgeId: string
  /** The time zone of its site; undefined if it has none. */
  readonly zone: string | undefined
}

/** The events of the last week. */
export function EventPanel({ orgId, mxedgeId, zone }: EventPanelProps) {
  const { api } = useServer()
  const names = useQuery({
    queryKey: ['edge event names'],
    queryFn: () => answerOf(api.GET('/api/v1/const/mxedge_events')),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const query = useQuery({
    queryKey: ['mxedge events', mxedgeId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/mxedges/events/search', {
          params: { path: { org_id: orgId }, query: { mxedge_id: mxedgeId, duration: '7d', limit: SHOWN } },
        }),
      ),
  })
  const nameOf = (type: string): string => names.data?.find(({ key }) => key === type)?.display ?? type
  return (
    <Panel title="Events" aside="7 days">
      <QueryView query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <EmptyState title="No events in a week" />
          ) : (
            <ol className="log">
              {results.map((event) => (
                <li key={`${event.timestamp} ${event.type} ${event.text ?? ''}`}>
                  <div className="log-head">
                    <span className="log-what">{nameOf(event.type)}</span>
                    <SiteTime at={event.timestamp} zone={zone} />
                  </div>
                  {event.text !== undefined && <p>{localText(event.text, zone)}</p>}
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
