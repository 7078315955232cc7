import { useQuery } from '@tanstack/react-query'
import { Suspense, lazy } from 'react'
import { answerOf, useServer } from '../../api/client.ts'
import { EmptyState, Skeleton } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { QueryView } from '../../display/layout/query-view.tsx'
import { zoneName } from '../../display/times/times.ts'
import { describeGraph, graphFields, graphText, graphsOf } from './graphs.ts'

/** The library of the charts is loaded with the first of them. */
const LineChart = lazy(async () => ({ default: (await import('../../display/line-chart.tsx')).LineChart }))

const READ_AGAIN_MS = 60_000

interface DeviceGraphsProps {
  readonly siteId: string
  readonly deviceId: string
  readonly zone: string | undefined
}

/** Processor, memory, clients and traffic of the last day, in the time of the site. */
export function DeviceGraphs({ siteId, deviceId, zone }: DeviceGraphsProps) {
  const { api } = useServer()
  const query = useQuery({
    queryKey: ['device series', deviceId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/sites/{site_id}/stats/devices/{device_id}/series', {
          params: { path: { site_id: siteId, device_id: deviceId }, query: { duration: '1d', fields: graphFields } },
        }),
      ),
    refetchInterval: READ_AGAIN_MS,
  })
  return (
    <Panel
      title="Last day"
      aside={`10-minute averages${query.data === undefined ? '' : `, ${zoneName(query.dataUpdatedAt / 1000, zone)}`}`}
    >
      <QueryView query={query} rows={6}>
        {(series) => {
          const graphs = graphsOf(series)
          if (graphs.length === 0)
            return (
              <EmptyState title="No values yet">
                The first averages appear some minutes after the device has connected.
              </EmptyState>
            )
          const times = (series.results['cpu'] ?? []).map((_, index) => series.start + index * series.interval)
          return (
            <Suspense fallback={<Skeleton rows={6} />}>
              <div className="charts">
                {graphs.map((graph) => (
                  <div key={graph.title}>
                    <h3>{graph.title}</h3>
                    <LineChart
                      label={describeGraph(graph)}
                      times={times}
                      lines={graph.lines}
                      textOf={(value) => graphText(value, graph.unit)}
                      {...(graph.unit === 'percent' && { most: 100 })}
                      zone={zone}
                    />
                  </div>
                ))}
              </div>
            </Suspense>
          )
        }}
      </QueryView>
    </Panel>
  )
}
