import type { ReactNode } from 'react'
import { Problem } from '../../api/problem.ts'

/** Explains why a list is empty, and what to do next. */
export function EmptyState({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  )
}

/** A refusal of the server in its own words. */
export function ProblemNote({ problem }: { readonly problem: Error | null }) {
  if (problem === null) return null
  const text = problem instanceof Problem ? problem.message : 'The page has met a defect. Load it again.'
  return (
    <p className="problem" role="alert">
      {text}
    </p>
  )
}

/** Rows that are on their way. It appears late enough not to flash before a quick answer. */
export function Skeleton({ rows }: { readonly rows: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} />
      ))}
    </div>
  )
}
