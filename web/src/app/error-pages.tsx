import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { Button } from '../display/forms/button.tsx'
import { Problem } from '../api/problem.ts'
import { Skeleton } from '../display/layout/notices.tsx'
import { PageTitle } from '../display/layout/page-title.tsx'

export function NotFoundPage() {
  return (
    <main className="lone">
      <PageTitle title="There is no such page" />
      <p>
        The address may be incomplete. <a href="/">Start over</a>
      </p>
    </main>
  )
}

const PLACEHOLDER_ROWS = 8

export function PendingPage() {
  return (
    <div className="pending-page">
      <Skeleton rows={PLACEHOLDER_ROWS} />
    </div>
  )
}

/** Shown where the account can't be read, and for a defect of a page. */
export function ErrorPage({ error }: ErrorComponentProps) {
  const router = useRouter()
  const title = error instanceof Problem && error.isAway ? 'The server is away' : 'This page failed'
  return (
    <main className="lone">
      <PageTitle title={title} />
      <p role="alert">{error instanceof Problem ? error.message : 'The page has met a defect. Load it again.'}</p>
      <Button size="sm" onClick={() => void router.invalidate()}>
        Try again
      </Button>
    </main>
  )
}
