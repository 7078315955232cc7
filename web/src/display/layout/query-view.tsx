import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ProblemNote, Skeleton } from './notices.tsx'

interface QueryViewProps<Data> {
  readonly query: UseQueryResult<Data>
  readonly rows?: number
  readonly children: (data: Data) => ReactNode
}

/** Shows the data of a query, and before that a placeholder, or the reason why it failed. */
export function QueryView<Data>({ query, rows = 4, children }: QueryViewProps<Data>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error !== null) return <ProblemNote problem={query.error} />
  return <Skeleton rows={rows} />
}
