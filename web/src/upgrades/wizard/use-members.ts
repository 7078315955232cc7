import { useQuery } from '@tanstack/react-query'
import { type Api, allPagesOf, pageOf, useServer } from '../../api/client.ts'
import { macText } from '../../devices/device.ts'
import type { Choice } from '../../display/forms/choices.ts'
import type { UpgradeKind } from '../overview.ts'

/** The most that one page of a list has. */
const PAGE = 1000

/** The routers or appliances that an upgrade may name; devices are not named one by one. */
export function useMembers(orgId: string, kind: UpgradeKind) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['upgrade members', orgId, kind],
    queryFn: (): readonly Choice[] | Promise<readonly Choice[]> =>
      kind === 'device' ? [] : kind === 'ssr' ? listRouters(api, orgId) : listAppliances(api, orgId),
    staleTime: 60_000,
  })
}

/** Routers in no site can't be upgraded. */
async function listRouters(api: Api, orgId: string): Promise<readonly Choice[]> {
  const path = { org_id: orgId }
  const gateways = await allPagesOf((page) =>
    pageOf(
      api.GET('/api/v1/orgs/{org_id}/inventory', { params: { path, query: { type: 'gateway', limit: PAGE, page } } }),
    ),
  )
  return gateways
    .filter(({ ssr, site_id: siteId }) => ssr === true && siteId !== undefined)
    .map(({ id, name, mac, model }) => ({ value: id, label: `${name || macText(mac)} (${model})` }))
}

async function listAppliances(api: Api, orgId: string): Promise<readonly Choice[]> {
  const path = { org_id: orgId }
  const appliances = await allPagesOf((page) =>
    pageOf(
      api.GET('/api/v1/orgs/{org_id}/mxedges', { params: { path, query: { for_site: 'any', limit: PAGE, page } } }),
    ),
  )
  return appliances.map(({ id, name }) => ({ value: id, label: name ?? id }))
}
