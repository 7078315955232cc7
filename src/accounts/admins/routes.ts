import { org } from '../../http/at.ts'
import { assertKept } from '../../http/bodies/documents.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Uuid } from '../../http/schemas.ts'
import { getOrg } from '../../orgs/store.ts'
import { parsePrivileges } from '../wire-privileges.ts'
import { getOrgAdmin, listAdmins } from './store-admins.ts'
import { revokeAdmin, updateAdmin } from './update-admin.ts'
import {
  AdminReply,
  OWN_ACCOUNT_FIELDS,
  RevokeQuery,
  RevokedAdminReply,
  UpdateAdminBody,
  presentAdmin,
} from './wire.ts'

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
    run: async (ctx, { scope, page }) => {
      const owner = await getOrg(ctx.db, scope)
      return presentPage(await listAdmins(ctx.db, scope, page), (admin) => presentAdmin(owner, admin))
    },
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
      const owner = await getOrg(ctx.db, scope)
      const present = presentAdmin(owner, await getOrgAdmin(ctx.db, scope, params.admin_id))
      assertKept(present, body, OWN_ACCOUNT_FIELDS)
      if (body.privileges === undefined) return present
      const privileges = parsePrivileges(scope.orgId, body.privileges)
      return presentAdmin(owner, await updateAdmin(ctx, scope, { adminId: params.admin_id, caller, privileges }))
    },
  }),
  operation({
    id: 'revokeOrgAdmin',
    summary: 'Remove an admin from an organization',
    method: 'DELETE',
    tag,
    at: org('/admins/:admin_id', { needs: 'admin' }),
    params,
    query: RevokeQuery,
    reply: RevokedAdminReply,
    run: async (ctx, { scope, params, query }) => {
      const keepsTokens = query.keep_apitokens ?? false
      const apitokens = await revokeAdmin(ctx, scope, { adminId: params.admin_id, keepsTokens })
      return { ...(apitokens.length > 0 && { apitokens }) }
    },
  }),
].flat()
