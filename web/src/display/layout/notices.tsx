import type { ReactNode } from 'react'
import { Problem } from '../../api/problem.ts'
import type { LoadFailure } from './load-failure.ts'
import { localText } from '../times/local-text.ts'
import { useTextZone } from '../times/text-zone.ts'

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
  const zone = useTextZone()
  if (problem === null) return null
  return (
    <p className="problem" role="alert">
      {textOf(problem, zone)}
    </p>
  )
}

function textOf(problem: Error, zone: string | undefined): string {
  return problem instanceof Problem ? localText(problem.message, zone) : 'The page has met a defect. Load it again.'
}

interface LoadNoteProps {
  /** What is missing, such as "The versions". */
  readonly what: string
  readonly failure: LoadFailure | null
}

/** Says that the choices of a field could not be read, with a way to read them again. */
export function LoadNote({ what, failure }: LoadNoteProps) {
  const zone = useTextZone()
  if (failure === null) return null
  return (
    <p className="field-problem" role="alert">
      {what} could not be read: {textOf(failure.problem, zone)}{' '}
      <button type="button" className="quiet" onClick={failure.retry}>
        Try again
      </button>
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
