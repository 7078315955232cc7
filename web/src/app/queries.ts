import { MutationCache, QueryCache, QueryClient, notifyManager } from '@tanstack/react-query'
import { Problem } from '../api/problem.ts'

/** @param onRefused Called when the server does not know the session, with the time at which it was asked. */
export function createQueries(onRefused: (askedAt: number) => void): QueryClient {
  const check = (error: Error, askedAt: number): void => {
    if (error instanceof Problem && error.status === 401) onRefused(askedAt)
  }
  // A button is busy before the next click, also if that has been waiting on a page that was busy itself.
  notifyManager.setScheduler(queueMicrotask)
  return new QueryClient({
    // With a new session, queries that have not ended yet are cancelled; mutations go on.
    queryCache: new QueryCache({ onError: (error) => check(error, Date.now()) }),
    mutationCache: new MutationCache({
      onError: (error, _variables, _result, { state }) => check(error, state.submittedAt),
    }),
    defaultOptions: {
      // While the server is unreachable a banner shows that, and everything is read again when it is back.
      queries: { networkMode: 'always', staleTime: 5000, retry: false, refetchOnWindowFocus: true },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}
