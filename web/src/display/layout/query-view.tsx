import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isMissing } from '../../api/problem.ts'
import { ProblemNote, Skeleton } from './notices.tsx'

interface QueryViewProps<Data> {
  readonly query: UseQueryResult<Data>
  readonly rows?: number
  /** Shown in place of a refusal if what is read does not exist, or not any more. */
  readonly missing?: ReactNode
  readonly children: (data: Data) => ReactNode
}

/** Shows the data of a query, and before that a placeholder, or the reason why it failed. */
export function QueryView<Data>({ query, rows = 4, missing, children }: QueryViewProps<Data>) {
  if (missing !== undefined && isMissing(query.error)) return <>{missing}</>
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error !== null) return <ProblemNote problem={query.error} />
  return <Skeleton rows={rows} />
}
