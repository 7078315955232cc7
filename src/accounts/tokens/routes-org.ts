import { org, orgSites } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import type { LoginGuard } from '../parts.ts'
import { requirePerson } from '../self/person.ts'
import { proveRecently } from '../self/prove-recently.ts'
import { createOrgToken, deleteOrgToken, updateOrgToken } from './org-tokens.ts'
import { getToken, listTokens } from './store.ts'
import {
  CreateOrgTokenBody,
  OrgTokenReply,
  UpdateOrgTokenBody,
  parseOrgToken,
  parseOrgTokenChange,
  presentOrgToken,
} from './wire.ts'

const tag = 'Orgs API Tokens'
const params = { apitoken_id: Uuid }

/** API tokens of an organization. Source: spec, "Authentication", 4; contract, Orgs API Tokens. */
export function orgTokenOperations(guard: LoginGuard): Operation[] {
  return [
    listOperation({
      id: 'listOrgApiTokens',
      summary: 'List the API tokens of an organization',
      tag,
      at: org('/apitokens', { needs: 'read' }),
      item: OrgTokenReply,
      run: async (ctx, { scope, page }) =>
        presentPage(await listTokens(ctx.db, scope, page), (token) => presentOrgToken(scope.orgId, token)),
    }),
    operation({
      id: 'createOrgApiToken',
      summary: 'Create an API token of an organization',
      method: 'POST',
      tag,
      // Admins of single sites may create tokens for these sites.
      at: orgSites('/apitokens', { needs: 'admin' }),
      body: CreateOrgTokenBody,
      reply: OrgTokenReply,
      run: async (ctx, { scope, caller, body }) => {
        const request = parseOrgToken(scope.orgId, body)
        // Published clients create them with only an API token; see decision 15.
        if (caller.principal.via === 'session')
          await proveRecently(ctx, guard, { caller: requirePerson(caller), password: body.password })
        const { token, key } = await createOrgToken(ctx, scope, { caller, request })
        return presentOrgToken(scope.orgId, token, key)
      },
    }),
    operation({
      id: 'getOrgApiToken',
      summary: 'Get an API token of an organization',
      method: 'GET',
      tag,
      at: org('/apitokens/:apitoken_id', { needs: 'read' }),
      params,
      reply: OrgTokenReply,
      run: async (ctx, { scope, params }) =>
        presentOrgToken(scope.orgId, await getToken(ctx.db, scope, params.apitoken_id)),
    }),
    operation({
      id: 'updateOrgApiToken',
      summary: 'Update an API token of an organization',
      method: 'PUT',
      tag,
      at: org('/apitokens/:apitoken_id', { needs: 'admin' }),
      params,
      body: UpdateOrgTokenBody,
      reply: OrgTokenReply,
      run: async (ctx, { scope, caller, params, body }) => {
        const change = parseOrgTokenChange(scope.orgId, body)
        const token = await updateOrgToken(ctx, scope, { id: params.apitoken_id, caller, change })
        return presentOrgToken(scope.orgId, token)
      },
    }),
    operation({
      id: 'deleteOrgApiToken',
      summary: 'Delete an API token of an organization',
      method: 'DELETE',
      tag,
      at: org('/apitokens/:apitoken_id', { needs: 'admin' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params }) => deleteOrgToken(ctx, scope, params.apitoken_id),
    }),
  ].flat()
}
