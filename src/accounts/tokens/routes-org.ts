import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty, OrgParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { LoginGuard } from '../parts.ts'
import { requirePerson } from '../self/person.ts'
import { proveRecently } from '../self/prove-recently.ts'
import { createOrgToken, deleteOrgToken, updateOrgToken } from './org-tokens.ts'
import { getToken, listTokens } from './store.ts'
import {
  CreateOrgTokenBody,
  OrgTokenParams,
  OrgTokenReply,
  UpdateOrgTokenBody,
  parseOrgToken,
  parseOrgTokenChange,
  presentOrgToken,
} from './wire.ts'

const tags = ['Orgs API Tokens']

/** API tokens of an organization. Source: spec, "Authentication", 4; contract, Orgs API Tokens. */
export function orgTokenRoutes(ctx: Context, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(tokenCollectionRoutes(ctx, guard), { prefix: '/orgs/:org_id/apitokens' })
    await http.register(singleTokenRoutes(ctx), { prefix: '/orgs/:org_id/apitokens/:apitoken_id' })
  }
}

function tokenCollectionRoutes(ctx: Context, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '',
      {
        schema: {
          operationId: 'listOrgApiTokens',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(OrgTokenReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listTokens(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map((token) => presentOrgToken(scope.orgId, token)))
      },
    )

    http.post(
      '',
      {
        schema: {
          operationId: 'createOrgApiToken',
          tags,
          params: OrgParams,
          body: CreateOrgTokenBody,
          response: { 200: OrgTokenReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        // Who administers single sites may make tokens for these.
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin', sites: 'some' })
        const request = parseOrgToken(scope.orgId, body)
        // Published clients make them by an API token alone; see decision 15.
        if (caller.principal.via === 'session')
          await proveRecently(ctx, guard, { caller: requirePerson(caller), password: body.password })
        const { token, key } = await createOrgToken(ctx, scope, { caller, request })
        return reply.header('cache-control', 'no-store').send(presentOrgToken(scope.orgId, token, key))
      },
    )
  }
}

function singleTokenRoutes(ctx: Context): FastifyPluginAsyncTypebox {
  const params = OrgTokenParams
  return async (http) => {
    http.get(
      '',
      { schema: { operationId: 'getOrgApiToken', tags, params, response: { 200: OrgTokenReply } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        return reply.send(presentOrgToken(scope.orgId, await getToken(ctx.db, scope, params.apitoken_id)))
      },
    )

    http.put(
      '',
      {
        schema: {
          operationId: 'updateOrgApiToken',
          tags,
          params,
          body: UpdateOrgTokenBody,
          response: { 200: OrgTokenReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const change = parseOrgTokenChange(scope.orgId, body)
        const token = await updateOrgToken(ctx, scope, { id: params.apitoken_id, caller, change })
        return reply.send(presentOrgToken(scope.orgId, token))
      },
    )

    http.delete(
      '',
      { schema: { operationId: 'deleteOrgApiToken', tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        await deleteOrgToken(ctx, scope, params.apitoken_id)
        return reply.send({})
      },
    )
  }
}
