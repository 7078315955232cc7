import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { LoginGuard } from '../parts.ts'
import { createOwnToken, deleteOwnToken, ownerOf, renameOwnToken } from './own-tokens.ts'
import { getToken, listTokens } from './store.ts'
import {
  CreateOwnTokenBody,
  OwnTokenBody,
  OwnTokenParams,
  OwnTokenReply,
  parseOwnToken,
  presentOwnToken,
} from './wire.ts'

const tags = ['Self API Token']

/** API tokens of the caller. Source: spec, "Authentication", 2 and 4; contract, Self API Token. */
export function ownTokenRoutes(ctx: Context, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '/self/apitokens',
      {
        schema: {
          operationId: 'listApiTokens',
          tags,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(OwnTokenReply) },
        },
      },
      async ({ caller, query }, reply) => {
        const page = parsePage(query)
        const found = await listTokens(ctx.db, ownerOf(caller), page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map((token) => presentOwnToken(token)))
      },
    )

    http.post(
      '/self/apitokens',
      { schema: { operationId: 'createApiToken', tags, body: CreateOwnTokenBody, response: { 200: OwnTokenReply } } },
      async ({ caller, body }, reply) => {
        const { token, key } = await createOwnToken(ctx, guard, { caller, ...parseOwnToken(body) })
        return reply.header('cache-control', 'no-store').send(presentOwnToken(token, key))
      },
    )

    http.get(
      '/self/apitokens/:apitoken_id',
      { schema: { operationId: 'getApiToken', tags, params: OwnTokenParams, response: { 200: OwnTokenReply } } },
      async ({ caller, params }, reply) =>
        reply.send(presentOwnToken(await getToken(ctx.db, ownerOf(caller), params.apitoken_id))),
    )

    http.put(
      '/self/apitokens/:apitoken_id',
      {
        schema: {
          operationId: 'updateApiToken',
          tags,
          params: OwnTokenParams,
          body: OwnTokenBody,
          response: { 200: OwnTokenReply },
        },
      },
      async ({ caller, params, body }, reply) =>
        reply.send(presentOwnToken(await renameOwnToken(ctx, caller, { id: params.apitoken_id, name: body.name }))),
    )

    http.delete(
      '/self/apitokens/:apitoken_id',
      { schema: { operationId: 'deleteApiToken', tags, params: OwnTokenParams, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        await deleteOwnToken(ctx, caller, params.apitoken_id)
        return reply.send({})
      },
    )
  }
}
