import { queryOptions } from '@tanstack/react-query'
import { type Api, answerOf } from '../api/client.ts'

/** The record of an upgrade. A page that shows it updates it by useLiveUpgrades(). */
export function upgradeQuery(api: Api, orgId: string, upgradeId: string) {
  return queryOptions({
    queryKey: ['upgrade', orgId, upgradeId],
    queryFn: () =>
      answerOf(
        api.GET('/api/v1/orgs/{org_id}/devices/upgrade/{upgrade_id}', {
          params: { path: { org_id: orgId, upgrade_id: upgradeId } },
        }),
      ),
  })
}
