import { type Static, Type } from 'typebox'
import type { Principal, Privilege } from '../../access/principal.ts'
import { assertUnchanged } from '../../http/bodies/documents.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Admin } from './store.ts'
import type { SelfChange } from './update-self.ts'

const PrivilegeReply = named(
  'SelfPrivilege',
  Type.Object({
    scope: Type.String(),
    role: Type.String(),
    org_id: Uuid,
    org_name: Type.String(),
    name: Type.String(),
    site_id: Type.Optional(Uuid),
    sitegroup_ids: Type.Optional(Type.Array(Uuid)),
    orggroup_ids: Type.Array(Uuid, { description: 'empty: there are no groups of organizations' }),
    views: Type.Optional(Type.Array(Type.String())),
  }),
)

const Text = Type.Optional(Type.String())
const Flag = Type.Optional(Type.Boolean())

/** A person has `admin_id`, `email` and so on; the token of an organization has `name` and no `email`. */
export const SelfReply = named(
  'Self',
  Type.Object(
    {
      admin_id: Type.Optional(Uuid),
      email: Text,
      first_name: Text,
      last_name: Text,
      name: Text,
      phone: Text,
      phone2: Text,
      city: Text,
      country: Text,
      state: Text,
      street_address: Text,
      'street_address 2': Text,
      zipcode: Text,
      tags: Type.Optional(Type.Array(Type.String(), { description: 'empty: accounts have no tags' })),
      privileges: Type.Array(PrivilegeReply),
      enable_two_factor: Type.Optional(Type.Boolean({ description: 'whether the account has a second factor' })),
      two_factor_verified: Flag,
      two_factor_required: Flag,
      two_factor_passed: Flag,
      via_sso: Flag,
      oauth_google: Flag,
      no_tracking: Flag,
      password_modified_time: Type.Optional(Timestamp),
      session_expiry: Type.Optional(Type.Integer({ description: 'minutes' })),
    },
    { additionalProperties: Type.Boolean(), description: '`oauth_<provider>`: whether an account there is linked' },
  ),
)

/**
 * Presents the account to a session whose second factor is missing. Clients request it to learn whether a second factor
 * is still required. Source: contract, "Login, cookies, second factor".
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
    // A session that has passed a second factor may have disabled it since.
    two_factor_verified: principal.hasSecondFactor && principal.secondFactor === 'passed',
    via_sso: principal.ssoId !== null,
    tags: [],
    ...(principal.noTracking !== null && { no_tracking: principal.noTracking }),
    ...(principal.passwordModifiedAt && { password_modified_time: epochS(principal.passwordModifiedAt) }),
  }
  return { ...person, privileges }
}

function presentPrivilege(privilege: Privilege): Static<typeof PrivilegeReply> {
  return {
    scope: privilege.scope,
    role: privilege.role,
    org_id: privilege.orgId,
    org_name: privilege.orgName,
    name: privilege.orgName,
    ...(privilege.siteId !== null && { site_id: privilege.siteId }),
    ...(privilege.sitegroupId !== null && { sitegroup_ids: [privilege.sitegroupId] }),
    orggroup_ids: [],
    ...(privilege.views !== null && { views: [...privilege.views] }),
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
  Type.Object(
    {
      ...ownFields,
      enable_two_factor: Type.Optional(Type.Boolean({ description: 'as it is; see /self/two_factor/verify' })),
      tags: Type.Optional(Type.Array(Type.String(), { maxItems: 100, description: 'none: accounts have no tags' })),
      password: Password,
      old_password: Type.Optional(
        Type.String({
          maxLength: 1024,
          format: 'password',
          description: 'needed with `password`, unless it was given to log in within the last five minutes',
        }),
      ),
    },
    { additionalProperties: true, description: 'other fields of the account: as they are' },
  ),
)

/** Fields that owners can't set, and why. Source: contract, `admin`. */
const fixed = [
  { fields: ['admin_id', 'name', 'password_modified_time'], why: "can't be changed: the service sets it" },
  { fields: ['email'], why: "can't be changed here: use /self/update" },
  { fields: ['enable_two_factor'], why: "can't be changed here: use /self/two_factor/verify" },
  { fields: ['privileges'], why: "can't be changed here: use the admins of the organization" },
  { fields: ['tags'], why: "can't be set: accounts have no tags" },
  { fields: ['compliance_status', 'expire_time', 'hours'], why: "can't be set: accounts do not have it" },
]

/**
 * Picks the fields that owners may set, because clients send whole records back.
 * @param present The account as answers show it.
 * @throws AppError invalid for another value of a field that owners can't set here.
 */
export function parseSelfChange(body: Static<typeof UpdateBody>, present: Static<typeof SelfReply>): SelfChange {
  for (const { fields, why } of fixed) assertUnchanged(present, body, { fields, why })
  const known = new Set(Object.keys(ownFields))
  assertKnown(body, { present, known: new Set([...known, 'password', 'old_password']) })
  const fields = Object.entries(body).filter(([name]) => known.has(name.replace(/^-/, '')))
  return { fields: Object.fromEntries(fields), password: body.password, oldPassword: body.old_password }
}

/** @throws AppError invalid naming a field that an account does not have. */
function assertKnown(
  body: Readonly<Record<string, unknown>>,
  { present, known }: { readonly present: Readonly<Record<string, unknown>>; readonly known: ReadonlySet<string> },
): void {
  const others = Object.keys(body).filter((name) => !known.has(name.replace(/^-/, '')))
  assertUnchanged(present, body, { fields: others, why: "can't be set by the owner of the account" })
}

/** Returns the principal with the changed fields of the account. */
export function withAdmin(principal: Principal, admin: Admin): Principal {
  const { firstName, lastName, profile, noTracking, passwordModifiedAt } = admin
  return { ...principal, firstName, lastName, profile, noTracking, passwordModifiedAt }
}

export const DeleteBody = named('SelfDelete', Type.Object({ password: Password }))

export const EmailBody = named(
  'SelfEmailUpdate',
  Type.Object({ email: textOf('email', { maxLength: 320 }), password: Password }),
)
