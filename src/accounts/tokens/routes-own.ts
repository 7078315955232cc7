import type { At } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import type { LoginGuard } from '../parts.ts'
import { type Person, person } from '../self/person.ts'
import { createOwnToken, deleteOwnToken, renameOwnToken } from './own-tokens.ts'
import { getToken, listTokens } from './store.ts'
import {
  CreateOwnTokenBody,
  OwnTokenBody,
  OwnTokenReply,
  parseOwnToken,
  parseOwnTokenName,
  presentOwnToken,
} from './wire.ts'

const tag = 'Self API Token'
const params = { apitoken_id: Uuid }

function own(path: string): At<Person> {
  return person(`/self/apitokens${path}`, { refusal: 'The token of an organization has no tokens of its own' })
}

/** API tokens of the caller. Source: spec, "Authentication", 2 and 4; contract, Self API Token. */
export function ownTokenOperations(guard: LoginGuard): Operation[] {
  return [
    listOperation({
      id: 'listApiTokens',
      summary: 'List the API tokens of the caller',
      tag,
      at: own(''),
      item: OwnTokenReply,
      run: async (ctx, { scope: owner, page }) =>
        presentPage(await listTokens(ctx.db, owner, page), (token) => presentOwnToken(token)),
    }),
    operation({
      id: 'createApiToken',
      summary: 'Create an API token of the caller',
      method: 'POST',
      tag,
      at: own(''),
      body: CreateOwnTokenBody,
      reply: OwnTokenReply,
      run: async (ctx, { scope: owner, body }) => {
        const { token, key } = await createOwnToken(ctx, guard, { caller: owner, ...parseOwnToken(body) })
        return presentOwnToken(token, key)
      },
    }),
    operation({
      id: 'getApiToken',
      summary: 'Get an API token of the caller',
      method: 'GET',
      tag,
      at: own('/:apitoken_id'),
      params,
      reply: OwnTokenReply,
      run: async (ctx, { scope: owner, params }) => presentOwnToken(await getToken(ctx.db, owner, params.apitoken_id)),
    }),
    operation({
      id: 'updateApiToken',
      summary: 'Update an API token of the caller',
      method: 'PUT',
      tag,
      at: own('/:apitoken_id'),
      params,
      body: OwnTokenBody,
      reply: OwnTokenReply,
      run: async (ctx, { scope: owner, params, body }) =>
        presentOwnToken(await renameOwnToken(ctx, owner, { id: params.apitoken_id, name: parseOwnTokenName(body) })),
    }),
    operation({
      id: 'deleteApiToken',
      summary: 'Delete an API token of the caller',
      method: 'DELETE',
      tag,
      at: own('/:apitoken_id'),
      params,
      reply: Empty,
      run: (ctx, { scope: owner, params }) => deleteOwnToken(ctx, owner, params.apitoken_id),
    }),
  ].flat()
}
