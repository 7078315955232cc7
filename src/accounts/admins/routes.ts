import { org } from '../../http/at.ts'
import { listOperation } from '../../http/list-operation.ts'
import { presentPage } from '../../http/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { parsePrivileges } from '../wire-privileges.ts'
import { listAdmins } from './store-admins.ts'
import { revokeAdmin, updateAdmin } from './update-admin.ts'
import { AdminReply, UpdateAdminBody, presentAdmin } from './wire.ts'

const tag = 'Orgs Admins'
const params = { admin_id: Uuid }

/** The privileges of admins in an organization. Source: contract, Orgs Admins. */
export const orgAdminOperations: Operation[] = [
  listOperation({
    id: 'listOrgAdmins',
    summary: 'List the admins of an organization',
    tag,
    at: org('/admins', { needs: 'read' }),
    item: AdminReply,
    run: async (ctx, { scope, page }) =>
      presentPage(await listAdmins(ctx.db, scope, page), (admin) => presentAdmin(scope.orgId, admin)),
  }),
  operation({
    id: 'updateOrgAdmin',
    summary: 'Change the privileges of an admin',
    method: 'PUT',
    tag,
    at: org('/admins/:admin_id', { needs: 'admin' }),
    params,
    body: UpdateAdminBody,
    reply: AdminReply,
    run: async (ctx, { scope, caller, params, body }) => {
      const privileges = parsePrivileges(scope.orgId, body.privileges)
      return presentAdmin(scope.orgId, await updateAdmin(ctx, scope, { adminId: params.admin_id, caller, privileges }))
    },
  }),
  operation({
    id: 'revokeOrgAdmin',
    summary: 'Remove an admin from an organization',
    method: 'DELETE',
    tag,
    at: org('/admins/:admin_id', { needs: 'admin' }),
    params,
    reply: Empty,
    run: async (ctx, { scope, params }) => {
      await revokeAdmin(ctx, scope, params.admin_id)
      return {}
    },
  }),
].flat()
