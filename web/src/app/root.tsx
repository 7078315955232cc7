import { notifyManager, useQueryClient } from '@tanstack/react-query'
import { Outlet, useRouter } from '@tanstack/react-router'
import { useEffect, useSyncExternalStore } from 'react'
import { useServer } from '../api/client.ts'
import { failedReadText } from './failed-reads.ts'

const PROBE_MS = 2000

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
  const { api } = useServer()
  const queries = useQueryClient()
  const router = useRouter()
  useEffect(() => {
    const probe = setInterval(() => {
      // The content of the answer does not matter: the client notes that there is one.
      api.GET('/api/v1/self').catch(() => {})
    }, PROBE_MS)
    return () => {
      clearInterval(probe)
      void queries.invalidateQueries()
      // Opens a page that could not be opened in the meantime.
      if (router.state.matches.some(({ status }) => status === 'error')) void router.invalidate()
    }
  }, [api, queries, router])
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
