import { useQuery } from '@tanstack/react-query'
import { type Api, allPagesOf, pageOf, useServer } from '../../api/client.ts'
import { macText } from '../../devices/device.ts'
import type { Choice } from '../../display/forms/choices.ts'
import type { UpgradeKind } from '../overview.ts'

/** The most that one page of a list has. */
const PAGE = 1000

interface MemberPlace {
  readonly orgId: string
  /** Absent: those of all sites. */
  readonly siteId: string | undefined
}

/** A router or an appliance that an upgrade may name. */
export interface Member extends Choice {
  /** Appliances have none. */
  readonly model?: string
}

/** The routers or appliances that an upgrade may name; devices are not named one by one. */
export function useMembers({ orgId, siteId }: MemberPlace, kind: UpgradeKind) {
  const { api } = useServer()
  return useQuery({
    queryKey: ['upgrade members', orgId, siteId ?? 'all', kind],
    queryFn: (): readonly Member[] | Promise<readonly Member[]> =>
      kind === 'device' ? [] : (kind === 'ssr' ? listRouters : listAppliances)(api, { orgId, siteId }),
    staleTime: 60_000,
  })
}

/** Routers in no site can't be upgraded. */
async function listRouters(api: Api, { orgId, siteId }: MemberPlace): Promise<readonly Member[]> {
  const path = { org_id: orgId }
  const routers = await allPagesOf((page) =>
    pageOf(
      api.GET('/api/v1/orgs/{org_id}/inventory', {
        params: {
          path,
          query: { ssr: true, limit: PAGE, page, ...(siteId !== undefined && { site_id: siteId }) },
        },
      }),
    ),
  )
  return routers
    .filter(({ site_id: where }) => where !== undefined)
    .map(({ id, name, mac, model }) => ({ value: id, label: `${name || macText(mac)} (${model})`, model }))
}

async function listAppliances(api: Api, { orgId, siteId }: MemberPlace): Promise<readonly Member[]> {
  const appliances = await allPagesOf((page) => {
    const paging = { limit: PAGE, page }
    return pageOf(
      siteId === undefined
        ? api.GET('/api/v1/orgs/{org_id}/mxedges', {
            params: { path: { org_id: orgId }, query: { for_site: 'any', ...paging } },
          })
        : api.GET('/api/v1/sites/{site_id}/mxedges', { params: { path: { site_id: siteId }, query: paging } }),
    )
  })
  return appliances.map(({ id, name }) => ({ value: id, label: name ?? id }))
}
