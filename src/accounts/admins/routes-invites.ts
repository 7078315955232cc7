import { org, orgSites } from '../../http/at.ts'
import { listOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid } from '../../http/schemas.ts'
import { getOrg } from '../../orgs/store.ts'
import type { AccountParts } from '../parts.ts'
import { person } from '../self/person.ts'
import { NO_ADDRESS, acceptOwnInvite } from './accept-invite.ts'
import { createInvite, updateInvite, deleteInvite } from './invites.ts'
import { getInvite, listInvites } from './store-invites.ts'
import {
  CreateInviteBody,
  InviteReply,
  InviteToken,
  UpdateInviteBody,
  parseInvite,
  parseInviteChange,
  presentInvite,
} from './wire.ts'

const tag = 'Orgs Admins'
const params = { invite_id: Uuid }

/** Invitations of admins. Source: contract, Orgs Admins and Admins. */
export function inviteOperations(parts: AccountParts): Operation[] {
  return [
    listOperation({
      id: 'listOrgAdminInvites',
      summary: 'List the open invitations to an organization',
      tag,
      at: org('/invites', { needs: 'read' }),
      item: InviteReply,
      run: async (ctx, { scope, page }) => {
        const owner = await getOrg(ctx.db, scope)
        return presentPage(await listInvites(ctx.db, scope, page), (invite) => presentInvite(owner, invite))
      },
    }),
    operation({
      id: 'inviteOrgAdmin',
      summary: 'Invite an admin to an organization',
      method: 'POST',
      tag,
      // Admins of single sites may invite others to these sites.
      at: orgSites('/invites', { needs: 'admin' }),
      body: CreateInviteBody,
      reply: InviteReply,
      run: async (ctx, { scope, caller, body }) => {
        const request = parseInvite(scope.orgId, body)
        const owner = await getOrg(ctx.db, scope)
        return presentInvite(owner, await createInvite(ctx, scope, { parts, caller, request }))
      },
    }),
    operation({
      id: 'updateOrgAdminInvite',
      summary: 'Update an invitation',
      method: 'PUT',
      tag,
      at: org('/invites/:invite_id', { needs: 'admin' }),
      params,
      body: UpdateInviteBody,
      reply: InviteReply,
      record: async (ctx, { scope, params }) =>
        presentInvite(await getOrg(ctx.db, scope), await getInvite(ctx.db, scope, params.invite_id)),
      run: async (ctx, { scope, caller, params, body }) => {
        const { invite_id: id } = params
        const wanted = parseInviteChange(await getInvite(ctx.db, scope, id), body)
        const owner = await getOrg(ctx.db, scope)
        return presentInvite(owner, await updateInvite(ctx, scope, { id, parts, caller, wanted }))
      },
    }),
    operation({
      id: 'uninviteOrgAdmin',
      summary: 'Withdraw an invitation',
      method: 'DELETE',
      tag,
      at: org('/invites/:invite_id', { needs: 'admin' }),
      params,
      reply: Empty,
      run: (ctx, { scope, params }) => deleteInvite(ctx, scope, params.invite_id),
    }),
    operation({
      id: 'verifyAdminInvite',
      summary: 'Accept an invitation to an organization',
      method: 'POST',
      tag: 'Admins',
      at: person('/invite/verify/:token', { refusal: NO_ADDRESS }),
      params: { token: InviteToken },
      reply: Empty,
      run: (ctx, { scope, params }) => acceptOwnInvite(ctx, scope, params.token),
    }),
  ].flat()
}
