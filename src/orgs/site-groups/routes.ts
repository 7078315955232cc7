import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { OrgParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { createSiteGroup } from './create-site-group.ts'
import { getSiteGroup, listSiteGroups } from './store.ts'
import { updateSiteGroup } from './update-site-group.ts'
import { CreateSiteGroupBody, SiteGroupParams, SiteGroupReply, UpdateSiteGroupBody, presentSiteGroup } from './wire.ts'

const tags = ['Orgs Sitegroups']
const list = '/orgs/:org_id/sitegroups'
const one = `${list}/:sitegroup_id`
const response = { 200: SiteGroupReply }

/** Groups of sites. Source: contract, Orgs Sitegroups. */
export function siteGroupRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      list,
      {
        schema: {
          operationId: 'listOrgSiteGroups',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(SiteGroupReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const page = parsePage(query)
        const found = await listSiteGroups(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return found.rows.map(presentSiteGroup)
      },
    )

    http.post(
      list,
      {
        schema: { operationId: 'createOrgSiteGroup', tags, params: OrgParams, body: CreateSiteGroupBody, response },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentSiteGroup(await createSiteGroup(ctx, scope, body))
      },
    )

    http.get(
      one,
      { schema: { operationId: 'getOrgSiteGroup', tags, params: SiteGroupParams, response } },
      async ({ caller, params }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        return presentSiteGroup(await getSiteGroup(ctx.db, scope, params.sitegroup_id))
      },
    )

    http.put(
      one,
      {
        schema: {
          operationId: 'updateOrgSiteGroup',
          tags,
          params: SiteGroupParams,
          body: UpdateSiteGroupBody,
          response,
        },
      },
      async ({ caller, params, body }) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return presentSiteGroup(await updateSiteGroup(ctx, scope, { id: params.sitegroup_id, body }))
      },
    )
  }
}
