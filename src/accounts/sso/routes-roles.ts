import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty, OrgParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { createSsoRole, deleteSsoRole, updateSsoRole } from './sso-roles.ts'
import { getSsoRole, listSsoRoles } from './store-roles.ts'
import {
  CreateSsoRoleBody,
  SsoRoleParams,
  SsoRoleReply,
  UpdateSsoRoleBody,
  parseSsoRole,
  parseSsoRoleChange,
  presentSsoRole,
} from './wire-roles.ts'

const tags = ['Orgs SSO Roles']
const collection = '/orgs/:org_id/ssoroles'
const single = `${collection}/:ssorole_id`

/** What identity providers' roles mean in an organization. Source: contract, Orgs SSO Roles. */
export function ssoRoleRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(collectionRoutes(ctx))
    await http.register(singleRoutes(ctx))
  }
}

function collectionRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      collection,
      {
        schema: {
          operationId: 'listOrgSsoRoles',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(SsoRoleReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listSsoRoles(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map(presentSsoRole))
      },
    )

    http.post(
      collection,
      {
        schema: {
          operationId: 'createOrgSsoRole',
          tags,
          params: OrgParams,
          body: CreateSsoRoleBody,
          response: { 200: SsoRoleReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const content = parseSsoRole(scope.orgId, body)
        return reply.send(presentSsoRole(await createSsoRole(ctx, scope, { caller, content })))
      },
    )
  }
}

function singleRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  const params = SsoRoleParams
  return async (http) => {
    http.get(
      single,
      { schema: { operationId: 'getOrgSsoRole', tags, params, response: { 200: SsoRoleReply } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        return reply.send(presentSsoRole(await getSsoRole(ctx.db, scope, params.ssorole_id)))
      },
    )

    http.put(
      single,
      {
        schema: {
          operationId: 'updateOrgSsoRole',
          tags,
          params,
          body: UpdateSsoRoleBody,
          response: { 200: SsoRoleReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const content = parseSsoRoleChange(scope.orgId, body)
        return reply.send(presentSsoRole(await updateSsoRole(ctx, scope, { id: params.ssorole_id, caller, content })))
      },
    )

    http.delete(
      single,
      { schema: { operationId: 'deleteOrgSsoRole', tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        await deleteSsoRole(ctx, scope, params.ssorole_id)
        return reply.send({})
      },
    )
  }
}
