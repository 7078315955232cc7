import { queryOptions } from '@tanstack/react-query'
import { type Api, answerOf } from '../api/client.ts'

/** The OAuth providers that the server is set up for. */
export function providersQuery(api: Api) {
  return queryOptions({
    queryKey: ['sign-in providers'],
    queryFn: () => answerOf(api.GET('/api/v1/login/oauth')),
    staleTime: Number.POSITIVE_INFINITY,
  })
}
