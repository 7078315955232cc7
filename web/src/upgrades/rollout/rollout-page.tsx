import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useServer } from '../../api/client.ts'
import { QueryView } from '../../display/layout/query-view.tsx'
import { kindQuery } from '../use-upgrades.ts'
import { ApplianceRollout } from './appliances/appliance-rollout.tsx'
import { DeviceRollout } from './device-rollout.tsx'

const route = getRouteApi('/signed-in/orgs/$orgId/upgrades/$upgradeId')

/** One upgrade of any kind, while it runs and afterwards. */
export function RolloutPage() {
  const { orgId, upgradeId } = route.useParams()
  const search = route.useSearch()
  const { api } = useServer()
  return (
    <QueryView query={useQuery(kindQuery(api, orgId, upgradeId))} rows={12}>
      {(kind) =>
        kind === 'mxedge' ? (
          <ApplianceRollout orgId={orgId} upgradeId={upgradeId} />
        ) : (
          <DeviceRollout place={{ orgId, upgradeId, kind }} search={search} />
        )
      }
    </QueryView>
  )
}
