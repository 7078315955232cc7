import { org } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { createSsoRole, deleteSsoRole, updateSsoRole } from './sso-roles.ts'
import { getSsoRole, listSsoRoles } from './store-roles.ts'
import {
  CreateSsoRoleBody,
  SsoRoleReply,
  UpdateSsoRoleBody,
  parseSsoRole,
  parseSsoRoleChange,
  presentSsoRole,
} from './wire-roles.ts'

const tag = 'Orgs SSO Roles'
const params = { ssorole_id: Uuid }

/** The roles of identity providers and their privileges in an organization. Source: contract, Orgs SSO Roles. */
export const ssoRoleOperations: Operation[] = [
  listOperation({
    id: 'listOrgSsoRoles',
    summary: 'List the SSO roles of an organization',
    tag,
    at: org('/ssoroles', { needs: 'read' }),
    item: SsoRoleReply,
    run: async (ctx, { scope, page }) => presentPage(await listSsoRoles(ctx.db, scope, page), presentSsoRole),
  }),
  operation({
    id: 'createOrgSsoRole',
    summary: 'Create an SSO role',
    method: 'POST',
    tag,
    at: org('/ssoroles', { needs: 'admin' }),
    body: CreateSsoRoleBody,
    reply: SsoRoleReply,
    run: async (ctx, { scope, caller, body }) => {
      const content = parseSsoRole(scope.orgId, body)
      return presentSsoRole(await createSsoRole(ctx, scope, { caller, content }))
    },
  }),
  operation({
    id: 'getOrgSsoRole',
    summary: 'Get an SSO role',
    method: 'GET',
    tag,
    at: org('/ssoroles/:ssorole_id', { needs: 'read' }),
    params,
    reply: SsoRoleReply,
    run: async (ctx, { scope, params }) => presentSsoRole(await getSsoRole(ctx.db, scope, params.ssorole_id)),
  }),
  operation({
    id: 'updateOrgSsoRole',
    summary: 'Update an SSO role',
    method: 'PUT',
    tag,
    at: org('/ssoroles/:ssorole_id', { needs: 'admin' }),
    params,
    body: UpdateSsoRoleBody,
    reply: SsoRoleReply,
    run: async (ctx, { scope, caller, params, body }) => {
      const content = parseSsoRoleChange(scope.orgId, body)
      return presentSsoRole(await updateSsoRole(ctx, scope, { id: params.ssorole_id, caller, content }))
    },
  }),
  operation({
    id: 'deleteOrgSsoRole',
    summary: 'Delete an SSO role',
    method: 'DELETE',
    tag,
    at: org('/ssoroles/:ssorole_id', { needs: 'admin' }),
    params,
    reply: Empty,
    run: (ctx, { scope, params }) => deleteSsoRole(ctx, scope, params.ssorole_id),
  }),
].flat()
