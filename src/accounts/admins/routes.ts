import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty, OrgParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { parsePrivileges } from '../wire-privileges.ts'
import { listAdmins } from './store-admins.ts'
import { revokeAdmin, updateAdmin } from './update-admin.ts'
import { AdminParams, AdminReply, UpdateAdminBody, presentAdmin } from './wire.ts'

const tags = ['Orgs Admins']

/** Who may do what in an organization. Source: contract, Orgs Admins. */
export function orgAdminRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/orgs/:org_id/admins',
      {
        schema: {
          operationId: 'listOrgAdmins',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(AdminReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listAdmins(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map((admin) => presentAdmin(scope.orgId, admin)))
      },
    )

    http.put(
      '/orgs/:org_id/admins/:admin_id',
      {
        schema: {
          operationId: 'updateOrgAdmin',
          tags,
          params: AdminParams,
          body: UpdateAdminBody,
          response: { 200: AdminReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const privileges = parsePrivileges(scope.orgId, body.privileges)
        const admin = await updateAdmin(ctx, scope, { adminId: params.admin_id, caller, privileges })
        return reply.send(presentAdmin(scope.orgId, admin))
      },
    )

    http.delete(
      '/orgs/:org_id/admins/:admin_id',
      { schema: { operationId: 'revokeOrgAdmin', tags, params: AdminParams, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        await revokeAdmin(ctx, scope, params.admin_id)
        return reply.send({})
      },
    )
  }
}
