import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'
import { ChangeText } from '../audit/change-text.tsx'
import { EmptyState } from '../display/layout/notices.tsx'
import { Panel } from '../display/layout/panel.tsx'
import { QueryView } from '../display/layout/query-view.tsx'
import { Ago } from '../display/times/time.tsx'
import { type DashboardPlace, OVERVIEW_MS } from './use-counts.ts'

const SHOWN = 8

/** The latest entries of the audit log. */
export function ChangePanel({ orgId, siteId }: DashboardPlace) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['changes', orgId, siteId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/logs', {
          params: {
            path: { org_id: orgId },
            query: { duration: '7d', limit: SHOWN, ...(siteId !== undefined && { site_id: siteId }) },
          },
        }),
      ),
    refetchInterval: OVERVIEW_MS,
  })
  return (
    <Panel title="Changes" aside="7 days">
      <QueryView query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <EmptyState title="No changes in a week" />
          ) : (
            <ol className="log">
              {results.map((change) => (
                <li key={change.id}>
                  <div className="log-head">
                    <span className="log-what">
                      <ChangeText orgId={orgId} entry={change} />
                    </span>
                    <Ago at={change.timestamp} />
                  </div>
                  <p>{change.admin_name ?? ''}</p>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}
