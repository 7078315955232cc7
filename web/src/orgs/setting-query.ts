import { queryOptions } from '@tanstack/react-query'
import { type Api, answerOf } from '../api/client.ts'

/** The settings of an organization. */
export function settingQuery(api: Api, orgId: string) {
  return queryOptions({
    queryKey: ['setting', orgId],
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/setting', { params: { path: { org_id: orgId } } })),
  })
}
