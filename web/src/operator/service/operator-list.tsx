import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Page } from '../../api/client.ts'
import type { OperatorApi } from '../../api/operator.ts'
import { MoreButton } from '../../display/layout/more-button.tsx'
import { ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'

const SHOWN = 20

/** Reads a list of the operator, page by page. @param path Under /operator/v1. */
export function useOperatorList<Row>(operator: OperatorApi, path: string) {
  const query = useInfiniteQuery({
    queryKey: ['operator list', path],
    queryFn: async ({ pageParam }) => (await operator.list(`${path}?limit=${SHOWN}&page=${pageParam}`)) as Page<Row>,
    initialPageParam: 1,
    getNextPageParam: ({ total }, pages) => (pages.length * SHOWN < total ? pages.length + 1 : undefined),
    gcTime: 0,
  })
  return { query, rows: query.data?.pages.flatMap((page) => page.rows), total: query.data?.pages[0]?.total }
}

interface OperatorListProps<Row> {
  readonly title: string
  readonly list: ReturnType<typeof useOperatorList<Row>>
  readonly empty: ReactNode
  /** Above the rows. */
  readonly actions?: ReactNode
  readonly children: (row: Row) => ReactNode
}

/** A list of the operator; further rows appear when they are asked for. */
export function OperatorList<Row>({ title, list, empty, actions, children }: OperatorListProps<Row>) {
  const { query, rows, total } = list
  return (
    <Panel title={title} aside={total}>
      {actions !== undefined && <div className="panel-buttons">{actions}</div>}
      {rows === undefined && (query.error === null ? <Skeleton rows={3} /> : <ProblemNote problem={query.error} />)}
      {rows?.length === 0 && empty}
      {rows !== undefined && rows.length > 0 && <ol className="log">{rows.map(children)}</ol>}
      {query.hasNextPage && (
        <p className="panel-buttons">
          <MoreButton query={query} />
        </p>
      )}
    </Panel>
  )
}
