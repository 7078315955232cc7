import { Link } from '@tanstack/react-router'
import { EmptyState } from './notices.tsx'

interface DeletedNoteProps {
  readonly orgId: string
  /** What is gone, in the singular, such as "site". */
  readonly noun: string
  /** The beginning of the messages of the audit log about deletions. */
  readonly message: string
}

/** Shown where an old link leads to something that does not exist: the audit log knows who has deleted it. */
export function DeletedNote({ orgId, noun, message }: DeletedNoteProps) {
  return (
    <EmptyState title={`The ${noun} was deleted, or it never existed`}>
      The{' '}
      <Link to="/orgs/$orgId/audit" params={{ orgId }} search={{ message, period: '30d' }}>
        audit log
      </Link>{' '}
      names those who have deleted {noun}s.
    </EmptyState>
  )
}
