import { type Static, Type } from 'typebox'
import type { Principal, Privilege } from '../../access/principal.ts'
import { Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Admin } from './store.ts'
import type { SelfChange } from './update-self.ts'

export const PrivilegeReply = named(
  'SelfPrivilege',
  Type.Object({
    scope: Type.String(),
    role: Type.String(),
    org_id: Uuid,
    org_name: Type.String(),
    name: Type.String(),
    site_id: Type.Optional(Uuid),
    sitegroup_ids: Type.Optional(Type.Array(Uuid)),
    views: Type.Optional(Type.Array(Type.String())),
  }),
)

/** A person has `admin_id`, `email` and so on; the token of an organization has `name` and no `email`. */
export const SelfReply = named(
  'Self',
  Type.Object(
    { name: Type.Optional(Type.String()), privileges: Type.Array(PrivilegeReply) },
    { additionalProperties: true },
  ),
)

/**
 * Presents the account to a session whose second factor is missing. Clients ask for it to learn whether they need to go
 * on. Source: contract, "Login, cookies, second factor".
 */
export function presentHalfSelf({ email }: Principal): Static<typeof SelfReply> {
  const person: Record<string, unknown> = { email, two_factor_required: true, two_factor_passed: false }
  return { ...person, privileges: [] }
}

/** The account record. Source: contract, GET /self. */
export function presentSelf(principal: Principal): Static<typeof SelfReply> {
  const privileges = principal.privileges.map(presentPrivilege)
  if (principal.adminId === null) return { name: principal.tokenName, privileges }
  const person: Record<string, unknown> = {
    ...principal.profile,
    admin_id: principal.adminId,
    email: principal.email,
    first_name: principal.firstName,
    last_name: principal.lastName,
    enable_two_factor: principal.hasSecondFactor,
    two_factor_verified: principal.secondFactor === 'passed',
    via_sso: principal.ssoId !== null,
    ...(principal.noTracking !== null && { no_tracking: principal.noTracking }),
    ...(principal.passwordModifiedAt && { password_modified_time: epochS(principal.passwordModifiedAt) }),
  }
  return { ...person, privileges }
}

export function presentPrivilege(privilege: Privilege): Static<typeof PrivilegeReply> {
  return {
    scope: privilege.scope,
    role: privilege.role,
    org_id: privilege.orgId,
    org_name: privilege.orgName,
    name: privilege.orgName,
    ...(privilege.siteId !== null && { site_id: privilege.siteId }),
    ...(privilege.sitegroupId !== null && { sitegroup_ids: [privilege.sitegroupId] }),
    ...(privilege.views.length > 0 && { views: [...privilege.views] }),
  }
}

const Line = Type.Optional(Type.String({ maxLength: 200 }))
const Password = Type.Optional(Type.String({ maxLength: 1024, format: 'password' }))

/** The fields that the owner of an account may set. The service sets the others. */
const ownFields = {
  first_name: Line,
  last_name: Line,
  phone: Line,
  phone2: Line,
  city: Line,
  country: Line,
  state: Line,
  street_address: Line,
  'street_address 2': Line,
  zipcode: Line,
  no_tracking: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
}

export const UpdateBody = named(
  'SelfUpdate',
  Type.Object({
    ...ownFields,
    enable_two_factor: Type.Optional(Type.Boolean({ description: 'as it is; see /self/two_factor' })),
    tags: Type.Optional(Type.Array(Type.String(), { maxItems: 100, description: 'none: accounts have no tags' })),
    password: Password,
    old_password: Type.Optional(
      Type.String({
        maxLength: 1024,
        format: 'password',
        description: 'needed with `password`, unless it was given to log in within the last five minutes',
      }),
    ),
  }),
)

/**
 * Picks the fields that owners may set, because clients send whole records back.
 * @param principal The account as it is.
 * @throws AppError invalid for another value of a field that owners can't set here.
 */
export function parseSelfChange(
  body: Static<typeof UpdateBody>,
  { hasSecondFactor }: Pick<Principal, 'hasSecondFactor'>,
): SelfChange {
  const { enable_two_factor: enable = hasSecondFactor, tags = [] } = body
  if (enable !== hasSecondFactor)
    throw invalidField('enable_two_factor', 'can not be changed here: use /self/two_factor')
  if (tags.length > 0) throw invalidField('tags', 'can not be set: accounts have no tags')
  const known = new Set(Object.keys(ownFields))
  const fields = Object.entries(body).filter(([name]) => known.has(name.replace(/^-/, '')))
  return { fields: Object.fromEntries(fields), password: body.password, oldPassword: body.old_password }
}

/** Returns the principal as it is after a change of the account. */
export function withAdmin(principal: Principal, admin: Admin): Principal {
  const { firstName, lastName, profile, noTracking, passwordModifiedAt } = admin
  return { ...principal, firstName, lastName, profile, noTracking, passwordModifiedAt }
}

export const DeleteBody = named('SelfDelete', Type.Object({ password: Password }))

export const EmailBody = named(
  'SelfEmailUpdate',
  Type.Object({ email: Type.String({ maxLength: 320 }), password: Password }),
)
