import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type Api, type Schemas, allPagesOf, answerOf, pageOf, useServer } from '../../../api/client.ts'
import { refetchType, upgradeIdIn, useLiveUpgrades } from '../../use-live-upgrades.ts'
import type { ApplianceTarget } from '../../appliance.ts'

export interface AppliancePlace {
  readonly orgId: string
  readonly upgradeId: string
}

/** The record and the appliances of an upgrade, kept up to date. */
export function useApplianceRollout({ orgId, upgradeId }: AppliancePlace) {
  const { api } = useServer()
  const queries = useQueryClient()
  const recordKey = ['appliance upgrade', orgId, upgradeId]
  const targetsKey = ['appliance targets', orgId, upgradeId]
  const logKey = ['appliance upgrade log', orgId, upgradeId]
  const path = { org_id: orgId, upgrade_id: upgradeId }
  const upgrade = useQuery({
    queryKey: recordKey,
    queryFn: () => answerOf(api.GET('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}', { params: { path } })),
  })
  const targets = useQuery({ queryKey: targetsKey, queryFn: () => listTargets(api, path) })
  const createdAt = upgrade.data?.created_time
  const log = useQuery({
    queryKey: [...logKey, createdAt],
    queryFn: () => listLog(api, { orgId, upgradeId, createdAt: createdAt ?? 0 }),
    enabled: createdAt !== undefined,
  })
  const refresh = async (type?: 'active' | 'none'): Promise<void> => {
    const options = type === undefined ? {} : { refetchType: type }
    await Promise.all([
      queries.invalidateQueries({ queryKey: recordKey, ...options }),
      queries.invalidateQueries({ queryKey: targetsKey, ...options }),
      queries.invalidateQueries({ queryKey: logKey, ...options }),
    ])
  }
  useLiveUpgrades(`/orgs/${orgId}`, ['mxedge'], {
    onChange: (data) => upgradeIdIn(data) === upgradeId,
    read: () => refresh(refetchType()),
  })
  return {
    upgrade: upgrade.data,
    targets: targets.data,
    log,
    problem: upgrade.error ?? targets.error,
    refresh: () => refresh(),
  }
}

/** The most that one page of a list has. An upgrade has 10,000 appliances at most. */
const PAGE = 1000

function listTargets(
  api: Api,
  path: { readonly org_id: string; readonly upgrade_id: string },
): Promise<readonly ApplianceTarget[]> {
  return allPagesOf((page) => {
    const params = { path, query: { limit: PAGE, page } }
    return pageOf(api.GET('/api/v1/orgs/{org_id}/mxedges/upgrade/{upgrade_id}/targets', { params }))
  })
}

/** The latest records of the audit log that name the upgrade; people pause and retry it a few times at most. */
async function listLog(
  api: Api,
  { orgId, upgradeId, createdAt }: AppliancePlace & { readonly createdAt: number },
): Promise<readonly Schemas['AuditLog'][]> {
  const query = { message: upgradeId, start: String(Math.floor(createdAt)), limit: PAGE }
  const { results } = await answerOf(
    api.GET('/api/v1/orgs/{org_id}/logs', { params: { path: { org_id: orgId }, query } }),
  )
  return results
}
