import { useQuery } from '@tanstack/react-query'
import type { OperatorApi } from '../../api/operator.ts'
import { Facts } from '../../display/layout/facts.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { sizeText } from '../../display/texts/size.ts'
import { ViewerTime } from '../../display/times/time.tsx'
import { duration } from '../../display/times/times.ts'
import { useNow } from '../../display/times/use-now.ts'
import type { ServiceStatus } from './answers.ts'
import { READ_AGAIN_MS } from './read-again.ts'

/** What runs, and on which database. */
export function StatusPanels({ operator }: { readonly operator: OperatorApi }) {
  const query = useQuery({
    queryKey: ['operator status'],
    queryFn: () => operator.get<ServiceStatus>('/status'),
    refetchInterval: READ_AGAIN_MS,
    gcTime: 0,
  })
  return (
    <div className="columns">
      <Panel title="Process">
        <QueryView query={query}>{(status) => <Process status={status} />}</QueryView>
      </Panel>
      <Panel title="Database">
        <QueryView query={query}>
          {({ database: { version, bytes, connections, max_connections: most, migration } }) => (
            <Facts
              facts={[
                ['PostgreSQL', version],
                ['Size', sizeText(bytes)],
                ['Connections', `${connections} of ${most}`],
                ['Newest migration', migration],
              ]}
            />
          )}
        </QueryView>
      </Panel>
    </div>
  )
}

function Process({ status }: { readonly status: ServiceStatus }) {
  const now = useNow()
  const { version, node_version: node, started_time: startedAt, memory_bytes: memory } = status
  return (
    <Facts
      facts={[
        ['Version', version],
        ['Node.js', node],
        ['Started', <ViewerTime key="started" at={startedAt} />],
        ['Up for', duration(now - startedAt)],
        ['Memory', sizeText(memory)],
      ]}
    />
  )
}
