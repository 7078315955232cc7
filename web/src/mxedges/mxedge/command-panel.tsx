import { useQuery } from '@tanstack/react-query'
import { type Schemas, pageOf, useServer } from '../../api/client.ts'
import { commandWords } from '../../devices/command-words.ts'
import { causeText } from '../../display/texts/cause-text.ts'
import { EmptyState } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import { SiteTime } from '../../display/times/time.tsx'

/** The interval at which the steps of a running command are read; the stream reports only its end. */
const OPEN_MS = 1000
const SHOWN = 10

interface CommandPanelProps {
  readonly orgId: string
  readonly mxedgeId: string
  /** The time zone of its site; undefined if it has none. */
  readonly zone: string | undefined
}

/** The commands of people and upgrades, with their progress. */
export function CommandPanel({ orgId, mxedgeId, zone }: CommandPanelProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['mxedge commands', mxedgeId],
    queryFn: () =>
      pageOf(
        api.GET('/api/v1/orgs/{org_id}/mxedges/{mxedge_id}/commands', {
          params: { path: { org_id: orgId, mxedge_id: mxedgeId }, query: { limit: SHOWN } },
        }),
      ),
    refetchInterval: ({ state: { data } }) =>
      data?.rows.some(({ status }) => status === 'queued' || status === 'sent') === true ? OPEN_MS : false,
  })
  return (
    <Panel title="Commands" aside={query.data?.total}>
      <QueryView query={query}>
        {({ rows }) =>
          rows.length === 0 ? (
            <EmptyState title="No commands yet">Controlled services and the steps of upgrades appear here.</EmptyState>
          ) : (
            <ol className="log">
              {rows.map((command) => (
                <li key={command.id}>
                  <div className="log-head">
                    <span className="log-what">{textOf(command)}</span>
                    <StateMark tone={commandWords[command.status].tone}>{commandWords[command.status].text}</StateMark>
                  </div>
                  {command.reason !== undefined && <p>{causeText(command.reason, zone)}</p>}
                  <p>
                    <SiteTime at={command.created_time} zone={zone} />
                    {command.progress?.percent !== undefined && ` · ${command.progress.percent} %`}
                  </p>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Panel>
  )
}

function textOf({ kind, params }: Schemas['MxedgeCommand']): string {
  const texts = ['action', 'service', 'name', 'version', 'codename'].flatMap((name) => {
    const value = params[name]
    return typeof value === 'string' ? [value] : []
  })
  return [kind.replaceAll('_', ' '), ...texts].join(' ')
}
