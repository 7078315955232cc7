import { notifyManager, useQueryClient } from '@tanstack/react-query'
import { Outlet, useRouter } from '@tanstack/react-router'
import { useEffect, useSyncExternalStore } from 'react'
import { useServer } from '../api/client.ts'
import { failedReadText } from './failed-reads.ts'

export function Root() {
  const { reachability } = useServer()
  const isAway = useSyncExternalStore(reachability.subscribe, reachability.isAway)
  return (
    <>
      {isAway ? <AwayBanner /> : <FailedBanner />}
      <Outlet />
    </>
  )
}

/** Shows that the server is unreachable, and reads everything again when it is back. Unsaved input stays. */
function AwayBanner() {
  const queries = useQueryClient()
  const router = useRouter()
  useEffect(
    () => () => {
      void queries.invalidateQueries()
      // Opens a page that could not be opened in the meantime.
      if (router.state.matches.some(({ status }) => status === 'error')) void router.invalidate()
    },
    [queries, router],
  )
  return (
    <div className="away" role="alert">
      The server does not answer. What you see may be old; the page goes on by itself when the server is back.
    </div>
  )
}

/** Shows that the server answers, but could not give something that the page shows: lists keep their former rows. */
function FailedBanner() {
  const queries = useQueryClient()
  const cache = queries.getQueryCache()
  const text = useSyncExternalStore(
    (onChange) => cache.subscribe(notifyManager.batchCalls(onChange)),
    () => failedReadText(cache.getAll()),
  )
  if (text === null) return null
  const repeat = (): void =>
    void queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.error !== null })
  return (
    <div className="away" role="alert">
      A part of this page could not be read, or is old: {text}{' '}
      <button type="button" className="quiet" onClick={repeat}>
        Try again
      </button>
    </div>
  )
}
