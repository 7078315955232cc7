import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { uuidv7 } from 'uuidv7'
import { authorize, authorizeNewOrg, authorizeSite, may } from '../access/authorize.ts'
import type { OrgScope } from '../access/scope.ts'
import { type Page, pageQuery, parsePage, setPageHeaders } from '../http/lists.ts'
import { Empty, OrgParams, SiteParams } from '../http/schemas.ts'
import { coalesceEqual } from '../platform/coalesce.ts'
import type { Context } from '../platform/context.ts'
import { cloneOrg } from './clone-org.ts'
import { createOrg } from './create-org.ts'
import { createSite } from './create-site.ts'
import { deleteOrg } from './removal/delete-org.ts'
import { deleteSite } from './removal/delete-site.ts'
import { getOrg } from './store.ts'
import { getSite, listSites } from './store-sites.ts'
import { updateOrg } from './update-org.ts'
import { updateSite } from './update-site.ts'
import {
  CloneOrgBody,
  CreateOrgBody,
  CreateSiteBody,
  OrgReply,
  SiteReply,
  UpdateOrgBody,
  UpdateSiteBody,
  presentOrg,
  presentSite,
} from './wire.ts'

/** Organizations and sites. Source: contract, Orgs and Sites. */
export function orgRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(wholeOrgRoutes(ctx))

    http.post(
      '/orgs',
      { schema: { operationId: 'createOrg', tags: ['Orgs'], body: CreateOrgBody, response: { 200: OrgReply } } },
      async ({ caller, body }, reply) =>
        reply.send(presentOrg(await createOrg(ctx, authorizeNewOrg(caller, uuidv7()), body))),
    )

    http.get(
      '/orgs/:org_id',
      { schema: { operationId: 'getOrg', tags: ['Orgs'], params: OrgParams, response: { 200: OrgReply } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        return reply.send(presentOrg(await getOrg(ctx.db, scope)))
      },
    )

    http.put(
      '/orgs/:org_id',
      {
        schema: {
          operationId: 'updateOrg',
          tags: ['Orgs'],
          params: OrgParams,
          body: UpdateOrgBody,
          response: { 200: OrgReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        return reply.send(presentOrg(await updateOrg(ctx, scope, body)))
      },
    )
  }
}

/** What takes an organization away, and what makes another one in its image. Source: contract, Orgs. */
function wholeOrgRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.delete(
      '/orgs/:org_id',
      { schema: { operationId: 'deleteOrg', tags: ['Orgs'], params: OrgParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        await deleteOrg(ctx, authorize(caller, { orgId: params.org_id, needs: 'admin' }))
        return {}
      },
    )

    http.post(
      '/orgs/:org_id/clone',
      {
        schema: {
          operationId: 'cloneOrg',
          tags: ['Orgs'],
          params: OrgParams,
          body: CloneOrgBody,
          response: { 200: OrgReply },
        },
      },
      async ({ caller, params, body }) => {
        const original = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const scope = authorizeNewOrg(caller, uuidv7())
        return presentOrg(await cloneOrg(ctx, scope, { original, name: body.name }))
      },
    )
  }
}

export function siteRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  const readSites = sitesReader(ctx)
  return async (http) => {
    http.get(
      '/orgs/:org_id/sites',
      {
        schema: {
          operationId: 'listOrgSites',
          tags: ['Orgs Sites'],
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(SiteReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read', sites: 'some' })
        const page = parsePage(query)
        const { sites, text, whole } = await readSites({ scope, page })
        setPageHeaders(reply, page, whole)
        return reply.serializer(() => text).send(sites)
      },
    )

    http.post(
      '/orgs/:org_id/sites',
      {
        schema: {
          operationId: 'createOrgSite',
          tags: ['Orgs Sites'],
          params: OrgParams,
          body: CreateSiteBody,
          response: { 200: SiteReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'write' })
        return reply.send(presentSite(await createSite(ctx, scope, body)))
      },
    )

    http.get(
      '/sites/:site_id',
      { schema: { operationId: 'getSiteInfo', tags: ['Sites'], params: SiteParams, response: { 200: SiteReply } } },
      async ({ caller, params }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'read' })
        return reply.send(presentSite(await getSite(ctx.db, scope)))
      },
    )

    http.put(
      '/sites/:site_id',
      {
        schema: {
          operationId: 'updateSiteInfo',
          tags: ['Sites'],
          params: SiteParams,
          body: UpdateSiteBody,
          response: { 200: SiteReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        const mayRegroup = may(caller, { orgId: scope.orgId }, 'write')
        return reply.send(presentSite(await updateSite(ctx, scope, { body, mayRegroup })))
      },
    )

    http.delete(
      '/sites/:site_id',
      { schema: { operationId: 'deleteSite', tags: ['Sites'], params: SiteParams, response: { 200: Empty } } },
      async ({ caller, params }) => {
        const scope = await authorizeSite(ctx, caller, { siteId: params.site_id, needs: 'write' })
        // As for its creation: who was given some sites does not decide which there are.
        authorize(caller, { orgId: scope.orgId, needs: 'write' })
        await deleteSite(ctx, scope)
        return {}
      },
    )
  }
}

/** The most frequent read of dashboards and scripts: equal pages that are asked for at once are read and written once. */
function sitesReader(ctx: Context) {
  return coalesceEqual(
    ({ scope, page }: { readonly scope: OrgScope; readonly page: Page }) =>
      JSON.stringify([scope.orgId, scope.siteIds, page.limit, page.page]),
    async ({ scope, page }) => {
      const { rows, ...whole } = await listSites(ctx.hotDb, scope, page)
      const sites = rows.map(presentSite)
      return { sites, text: JSON.stringify(sites), whole }
    },
  )
}
