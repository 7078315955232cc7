import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/clock.ts'
import { OrgPrivilegeReply, PrivilegeBody, parsePrivileges, presentPrivilegeOf } from '../wire-privileges.ts'
import type { Invite, InviteDocument } from '../tables.ts'
import type { InviteRequest } from './invites.ts'
import type { OrgAdmin } from './store-admins.ts'

export const InviteToken = Type.String({ minLength: 1, maxLength: 200 })

const Privileges = Type.Array(PrivilegeBody, { minItems: 1, maxItems: 100 })
const Name = Type.String({ maxLength: 64 })
const Hours = Type.Integer({ minimum: 1, maximum: 168, default: 24 })

/** Other fields of the account are its owner's; they are ignored here. */
export const UpdateAdminBody = named(
  'AdminUpdate',
  Type.Object({ privileges: Privileges }, { additionalProperties: true }),
)

export const CreateInviteBody = named(
  'InviteCreate',
  Type.Object(
    {
      email: Type.String({ minLength: 3, maxLength: 64, pattern: '^[^\\s@<>"]+@[^\\s@<>"]+$' }),
      privileges: Privileges,
      first_name: Type.Optional(Name),
      last_name: Type.Optional(Name),
      hours: Type.Optional(Hours),
    },
    { additionalProperties: true },
  ),
)
export const UpdateInviteBody = named(
  'InviteUpdate',
  Type.Object(
    {
      privileges: Type.Optional(Privileges),
      first_name: Type.Optional(Name),
      last_name: Type.Optional(Name),
      hours: Type.Optional(Hours),
    },
    { additionalProperties: true },
  ),
)

export const AdminReply = named(
  'Admin',
  Type.Object({
    admin_id: Uuid,
    email: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    enable_two_factor: Type.Boolean(),
    via_sso: Type.Boolean(),
    privileges: Type.Array(OrgPrivilegeReply),
  }),
)

export const InviteReply = named(
  'Invite',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    email: Type.String(),
    first_name: Type.Optional(Type.String()),
    last_name: Type.Optional(Type.String()),
    hours: Type.Integer(),
    privileges: Type.Array(OrgPrivilegeReply),
    created_time: Timestamp,
    expire_time: Type.Integer({ description: 'epoch seconds' }),
  }),
)

const DEFAULT_HOURS = 24

export function parseInvite(orgId: string, body: Static<typeof CreateInviteBody>): InviteRequest {
  const { hours = DEFAULT_HOURS, privileges } = body
  return {
    email: body.email.toLowerCase(),
    document: { ...namesOf(body), hours, privileges: parsePrivileges(orgId, privileges) },
  }
}

/** Returns only the fields that the body names. */
export function parseInviteChange(orgId: string, body: Static<typeof UpdateInviteBody>): Partial<InviteDocument> {
  const { hours, privileges } = body
  return {
    ...namesOf(body),
    ...(hours !== undefined && { hours }),
    ...(privileges !== undefined && { privileges: parsePrivileges(orgId, privileges) }),
  }
}

function namesOf({ first_name, last_name }: Pick<InviteDocument, 'first_name' | 'last_name'>) {
  return { ...(first_name !== undefined && { first_name }), ...(last_name !== undefined && { last_name }) }
}

export function presentAdmin(orgId: string, admin: OrgAdmin): Static<typeof AdminReply> {
  return {
    admin_id: admin.id,
    email: admin.email,
    first_name: admin.firstName,
    last_name: admin.lastName,
    enable_two_factor: admin.hasSecondFactor,
    via_sso: admin.viaSso,
    privileges: admin.privileges.map((privilege) => presentPrivilegeOf(orgId, privilege)),
  }
}

/**
 * Presents the invitation without its token, which is only in the mail: with it the inviter could accept in the name of
 * another person.
 */
export function presentInvite({ id, orgId, email, doc, ...invite }: Invite): Static<typeof InviteReply> {
  return {
    id,
    org_id: orgId,
    email,
    ...namesOf(doc),
    hours: doc.hours,
    privileges: doc.privileges.map((privilege) => presentPrivilegeOf(orgId, privilege)),
    created_time: epochS(invite.createdAt),
    expire_time: Math.floor(epochS(invite.expiresAt)),
  }
}
