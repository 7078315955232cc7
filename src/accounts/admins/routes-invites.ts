import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { authorize } from '../../access/authorize.ts'
import { pageQuery, parsePage, setPageHeaders } from '../../http/lists.ts'
import { Empty, OrgParams } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts } from '../parts.ts'
import { acceptOwnInvite } from './accept-invite.ts'
import { createInvite, updateInvitation, withdrawInvite } from './send-invite.ts'
import { listInvites } from './store-invites.ts'
import {
  CreateInviteBody,
  InviteParams,
  InviteReply,
  InviteTokenParams,
  UpdateInviteBody,
  parseInvite,
  parseInviteChange,
  presentInvite,
} from './wire.ts'

const tags = ['Orgs Admins']

/** Invitations of admins. Source: contract, Orgs Admins and Admins. */
export function inviteRoutes(ctx: Context, parts: AccountParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(inviteCollectionRoutes(ctx, parts), { prefix: '/orgs/:org_id/invites' })
    await http.register(singleInviteRoutes(ctx, parts), { prefix: '/orgs/:org_id/invites/:invite_id' })

    http.post(
      '/invite/verify/:token',
      {
        schema: {
          operationId: 'verifyAdminInvite',
          tags: ['Admins'],
          params: InviteTokenParams,
          response: { 200: Empty },
        },
      },
      async ({ caller, params }, reply) => {
        await acceptOwnInvite(ctx, caller, params.token)
        return reply.send({})
      },
    )
  }
}

function inviteCollectionRoutes(ctx: Context, parts: AccountParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      '',
      {
        schema: {
          operationId: 'listOrgAdminInvites',
          tags,
          params: OrgParams,
          querystring: Type.Object(pageQuery),
          response: { 200: Type.Array(InviteReply) },
        },
      },
      async ({ caller, params, query }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'read' })
        const page = parsePage(query)
        const found = await listInvites(ctx.db, scope, page)
        setPageHeaders(reply, page, found)
        return reply.send(found.rows.map(presentInvite))
      },
    )

    http.post(
      '',
      {
        schema: {
          operationId: 'inviteOrgAdmin',
          tags,
          params: OrgParams,
          body: CreateInviteBody,
          response: { 200: InviteReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        // Who administers single sites may invite to these.
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin', sites: 'some' })
        const request = parseInvite(scope.orgId, body)
        return reply.send(presentInvite(await createInvite(ctx, scope, { parts, caller, request })))
      },
    )
  }
}

function singleInviteRoutes(ctx: Context, parts: AccountParts): FastifyPluginAsyncTypebox {
  const params = InviteParams
  return async (http) => {
    http.put(
      '',
      {
        schema: {
          operationId: 'updateOrgAdminInvite',
          tags,
          params,
          body: UpdateInviteBody,
          response: { 200: InviteReply },
        },
      },
      async ({ caller, params, body }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        const document = parseInviteChange(scope.orgId, body)
        const invite = await updateInvitation(ctx, scope, { id: params.invite_id, parts, caller, document })
        return reply.send(presentInvite(invite))
      },
    )

    http.delete(
      '',
      { schema: { operationId: 'uninviteOrgAdmin', tags, params, response: { 200: Empty } } },
      async ({ caller, params }, reply) => {
        const scope = authorize(caller, { orgId: params.org_id, needs: 'admin' })
        await withdrawInvite(ctx, scope, params.invite_id)
        return reply.send({})
      },
    )
  }
}
