import { type Static, Type } from 'typebox'
import { isUnset, unsettable } from '../../http/bodies/closed-bodies.ts'
import { assertKept, assertUnchanged } from '../../http/bodies/documents.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { Timestamp, Uuid, asTheyAre, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import {
  AdminPrivilegeReply,
  PrivilegeBody,
  type PrivilegeOrg,
  parsePrivileges,
  presentAdminPrivileges,
} from '../wire-privileges.ts'
import type { Invite, InviteDocument } from '../tables.ts'
import type { InviteChange, InviteRequest } from './invites.ts'
import type { OrgAdmin } from './store-admins.ts'

export const InviteToken = Type.String({ minLength: 1, maxLength: 200 })

const Privileges = Type.Array(PrivilegeBody, { minItems: 1, maxItems: 100 })
const Name = Type.String({ maxLength: 64 })
const Hours = Type.Integer({ minimum: 1, maximum: 168, default: 24 })

/** Fields of an account that only its owner changes. Source: contract, `admin`. */
export const OWN_ACCOUNT_FIELDS = {
  fields: [
    ...['admin_id', 'compliance_status', 'email', 'enable_two_factor', 'expire_time', 'first_name', 'hours'],
    ...[
      'last_name',
      'name',
      'no_tracking',
      'oauth_google',
      'password_modified_time',
      'phone',
      'phone2',
      'session_expiry',
    ],
    ...['tags', 'two_factor_verified', 'via_sso'],
  ],
  why: "can't be changed here: only the owner of the account may",
}

/** Fields of accounts that an invitation does not have. Source: contract, `admin`. */
const NOT_INVITED = {
  fields: [
    ...['admin_id', 'compliance_status', 'enable_two_factor', 'name', 'no_tracking', 'oauth_google'],
    ...['password_modified_time', 'phone', 'phone2', 'session_expiry', 'tags', 'two_factor_verified', 'via_sso'],
  ],
  why: "can't be set: the invited person sets it in their account",
}
const FIXED_EXPIRY = { fields: ['expire_time'], why: "can't be set: `hours` decide when the invitation expires" }
const FIXED_ADDRESS = { fields: ['email'], why: "can't be changed: another address needs another invitation" }

export const UpdateAdminBody = named(
  'AdminUpdate',
  Type.Object(
    { privileges: Type.Optional(Privileges), ...asTheyAre(OWN_ACCOUNT_FIELDS.fields) },
    { description: 'other fields are up to the owner of the account' },
  ),
)

export const CreateInviteBody = named(
  'InviteCreate',
  Type.Object({
    email: Type.String({ minLength: 3, maxLength: 64, pattern: '^[^\\s@<>"]+@[^\\s@<>"]+$' }),
    privileges: Privileges,
    first_name: Type.Optional(Name),
    last_name: Type.Optional(Name),
    hours: Type.Optional(Hours),
    ...asTheyAre([...NOT_INVITED.fields, ...FIXED_EXPIRY.fields]),
  }),
)
export const UpdateInviteBody = named(
  'InviteUpdate',
  Type.Object(
    {
      privileges: Type.Optional(Privileges),
      first_name: Type.Optional(Name),
      last_name: Type.Optional(Name),
      hours: Type.Optional(Hours),
      ...asTheyAre([...NOT_INVITED.fields, ...FIXED_EXPIRY.fields, ...FIXED_ADDRESS.fields, ...readOnlyOf('Invite')]),
    },
    unsettable(['first_name', 'last_name', 'hours']),
  ),
)

export const AdminReply = named(
  'Admin',
  Type.Object({
    admin_id: Uuid,
    email: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    enable_two_factor: Type.Boolean({ description: 'whether the account has a second factor' }),
    name: Type.String({ description: 'first and last name' }),
    two_factor_verified: Type.Boolean({ description: 'whether a second factor is set up' }),
    oauth_google: Type.Boolean({ description: 'whether an account at this provider is linked' }),
    password_modified_time: Type.Optional(Timestamp),
    tags: Type.Array(Type.String(), { description: 'empty: accounts have no tags' }),
    via_sso: Type.Boolean(),
    privileges: Type.Array(AdminPrivilegeReply),
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
    privileges: Type.Array(AdminPrivilegeReply),
    created_time: Timestamp,
    expire_time: Type.Integer({ description: 'epoch seconds' }),
  }),
)

const DEFAULT_HOURS = 24

export function parseInvite(orgId: string, body: Static<typeof CreateInviteBody>): InviteRequest {
  const { hours = DEFAULT_HOURS, privileges } = body
  assertUnchanged({}, body, NOT_INVITED)
  assertUnchanged({}, body, FIXED_EXPIRY)
  return {
    email: body.email.toLowerCase(),
    document: { ...namesOf(body), hours, privileges: parsePrivileges(orgId, privileges) },
  }
}

/**
 * Returns only the fields that the body sets, and the names that it unsets.
 * @throws AppError invalid for a change of what an invitation can't change.
 */
export function parseInviteChange(before: Invite, body: Static<typeof UpdateInviteBody>): InviteChange {
  const { orgId, email } = before
  const { hours, privileges } = body
  assertUnchanged({}, body, NOT_INVITED)
  assertKept({ email }, body, FIXED_ADDRESS)
  assertKept({ expire_time: expiryOf(before) }, body, FIXED_EXPIRY)
  return {
    ...namesOf(body),
    ...(hours !== undefined && { hours }),
    ...(isUnset(body, 'hours') && { hours: DEFAULT_HOURS }),
    ...(privileges !== undefined && { privileges: parsePrivileges(orgId, privileges) }),
    unset: (['first_name', 'last_name'] as const).filter((name) => isUnset(body, name)),
  }
}

function expiryOf({ expiresAt }: Pick<Invite, 'expiresAt'>): number {
  return Math.floor(epochS(expiresAt))
}

function namesOf({ first_name, last_name }: Pick<InviteDocument, 'first_name' | 'last_name'>) {
  return { ...(first_name !== undefined && { first_name }), ...(last_name !== undefined && { last_name }) }
}

export function presentAdmin(org: PrivilegeOrg, admin: OrgAdmin): Static<typeof AdminReply> {
  return {
    admin_id: admin.id,
    email: admin.email,
    first_name: admin.firstName,
    last_name: admin.lastName,
    name: [admin.firstName, admin.lastName].filter((part) => part !== '').join(' '),
    enable_two_factor: admin.hasSecondFactor,
    two_factor_verified: admin.hasSecondFactor,
    oauth_google: admin.hasGoogle,
    ...(admin.passwordModifiedAt !== null && { password_modified_time: epochS(admin.passwordModifiedAt) }),
    tags: [],
    via_sso: admin.viaSso,
    privileges: presentAdminPrivileges(org, admin.privileges),
  }
}

/**
 * Presents the invitation without its token, which is only in the mail: with it the inviter could accept in the name of
 * another person.
 */
export function presentInvite(
  org: PrivilegeOrg,
  { id, orgId, email, doc, ...invite }: Invite,
): Static<typeof InviteReply> {
  return {
    id,
    org_id: orgId,
    email,
    ...namesOf(doc),
    hours: doc.hours,
    privileges: presentAdminPrivileges(org, doc.privileges),
    created_time: epochS(invite.createdAt),
    expire_time: expiryOf(invite),
  }
}

/** Ours. */
export const RevokeQuery = Type.Object({
  keep_apitokens: Type.Optional(
    Type.Boolean({ description: 'true: the tokens of the organization that the admin has created stay valid' }),
  ),
})

export const RevokedAdminReply = named(
  'RevokedAdmin',
  Type.Object({
    apitokens: Type.Optional(
      Type.Array(Type.Object({ id: Uuid, name: Type.String() }), {
        description: 'the revoked tokens of the organization',
      }),
    ),
  }),
)
