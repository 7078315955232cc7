import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useRouter } from '@tanstack/react-router'
import { useEffect, useSyncExternalStore } from 'react'
import { useServer } from '../api/client.ts'

const PROBE_MS = 2000

export function Root() {
  return (
    <>
      <AwayBanner />
      <Outlet />
    </>
  )
}

/** Shows that the server is unreachable, and reads everything again when it is back. Unsaved input stays. */
function AwayBanner() {
  const { api, reachability } = useServer()
  const queries = useQueryClient()
  const router = useRouter()
  const isAway = useSyncExternalStore(reachability.subscribe, reachability.isAway)
  useEffect(() => {
    if (!isAway) return undefined
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
  }, [api, isAway, queries, router])
  if (!isAway) return null
  return (
    <div className="away" role="alert">
      The server does not answer. What you see may be old; the page goes on by itself when the server is back.
    </div>
  )
}
