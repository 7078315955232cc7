import { MutationCache, QueryCache, QueryClient, notifyManager } from '@tanstack/react-query'
import { Problem } from '../api/problem.ts'
import type { PageSession } from '../api/session.ts'

const MAX_RETRIES = 2
const RETRY_MS = 1000

/** Reports each refusal of the session, with what renewals() returned when the request was sent. */
export function createQueries({ renewals, end }: Pick<PageSession, 'renewals' | 'end'>): QueryClient {
  const check = (error: Error, asked: number): void => {
    if (error instanceof Problem && error.status === 401) end(asked)
  }
  const askedBy = new WeakMap<object, number>()
  // A button is busy before the next click, also if that has been waiting on a page that was busy itself.
  notifyManager.setScheduler(queueMicrotask)
  return new QueryClient({
    // With a new session, queries that have not ended yet are cancelled; mutations go on.
    queryCache: new QueryCache({ onError: (error) => check(error, renewals()) }),
    mutationCache: new MutationCache({
      onMutate: (_variables, mutation) => void askedBy.set(mutation, renewals()),
      onError: (error, _variables, _result, mutation) => check(error, askedBy.get(mutation) ?? renewals()),
    }),
    defaultOptions: {
      queries: {
        networkMode: 'always',
        staleTime: 5000,
        // While the server is unreachable a banner shows that, and everything is read again when it is back. One that was
        // away for a moment is back by then; one that has too much to do is left alone after that.
        retry: (failures, error) => failures < MAX_RETRIES && error instanceof Problem && error.isAway,
        retryDelay: (failures) => RETRY_MS * 2 ** failures,
        refetchOnWindowFocus: true,
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
}
