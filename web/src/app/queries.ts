import { MutationCache, QueryCache, QueryClient, notifyManager } from '@tanstack/react-query'
import { Problem } from '../api/problem.ts'

/** @param onSessionEnded Called when the server no longer knows the session. */
export function createQueries(onSessionEnded: () => void): QueryClient {
  const check = (error: Error): void => {
    if (error instanceof Problem && error.status === 401) onSessionEnded()
  }
  // A button is busy before the next click, also if that has been waiting on a page that was busy itself.
  notifyManager.setScheduler(queueMicrotask)
  return new QueryClient({
    queryCache: new QueryCache({ onError: check }),
    mutationCache: new MutationCache({ onError: check }),
    defaultOptions: {
      // While the server is unreachable a banner shows that, and everything is read again when it is back.
      queries: { networkMode: 'always', staleTime: 5000, retry: false, refetchOnWindowFocus: true },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}
