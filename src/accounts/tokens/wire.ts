import { type Static, Type } from 'typebox'
import { isAddressRange } from '../../access/authentication/src-ips.ts'
import { isUnset, unsettable } from '../../http/bodies/closed-bodies.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { Timestamp, Uuid, asTheyAre, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { PasswordProof } from '../wire-proof.ts'
import { OrgPrivilegeReply, PrivilegeBody, parsePrivileges, presentPrivilegeOf } from '../wire-privileges.ts'
import type { OrgTokenRequest } from './org-tokens.ts'
import type { Token } from './token.ts'

const Name = Type.String({ minLength: 1, maxLength: 200 })
const PRIVILEGES = { minItems: 1, maxItems: 10 }
const srcIps = {
  src_ips: Type.Optional(
    Type.Array(textOf('addressRange', { maxLength: 64 }), {
      maxItems: 10,
      description: "addresses or ranges; can't be changed",
    }),
  ),
}

const proof = { password: Type.Optional(PasswordProof) }

export const OwnTokenBody = named(
  'ApiTokenUpdate',
  Type.Object({ name: Type.Optional(Name), ...asTheyAre(readOnlyOf('ApiToken')) }, unsettable(['name'])),
)
export const CreateOwnTokenBody = named(
  'ApiTokenCreate',
  Type.Object({ name: Type.Optional(Name), ...proof, ...asTheyAre(readOnlyOf('ApiToken')) }),
)
export const CreateOrgTokenBody = named(
  'OrgApiTokenCreate',
  Type.Object({
    name: Name,
    privileges: Type.Optional(
      Type.Array(PrivilegeBody, {
        ...PRIVILEGES,
        description: 'a token without may do nothing until an update grants it',
      }),
    ),
    ...srcIps,
    ...proof,
    ...asTheyAre(readOnlyOf('OrgApiToken')),
  }),
)
export const UpdateOrgTokenBody = named(
  'OrgApiTokenUpdate',
  Type.Object(
    {
      name: Type.Optional(Name),
      privileges: Type.Optional(Type.Array(PrivilegeBody, PRIVILEGES)),
      ...srcIps,
      ...asTheyAre(readOnlyOf('OrgApiToken')),
    },
    unsettable(['src_ips']),
  ),
)

const shared = {
  id: Uuid,
  name: Type.String(),
  key: Type.String({ description: 'whole in the answer that creates it, later its first and last four characters' }),
  created_time: Timestamp,
  last_used: Type.Union([Type.Integer(), Type.Null()], { description: 'epoch seconds, some minutes late' }),
}

export const OwnTokenReply = named('ApiToken', Type.Object(shared))
export const OrgTokenReply = named(
  'OrgApiToken',
  Type.Object({
    ...shared,
    org_id: Uuid,
    privileges: Type.Optional(Type.Array(OrgPrivilegeReply, { minItems: 1, description: 'absent: none' })),
    ...srcIps,
    created_by: Type.Union([Type.String(), Type.Null()]),
  }),
)

const UNNAMED = 'API token'

export function parseOwnToken({ name = UNNAMED, password }: Static<typeof CreateOwnTokenBody>): {
  readonly name: string
  readonly password: string | undefined
} {
  return { name, password }
}

/** Returns undefined if the name does not change. */
export function parseOwnTokenName(body: Static<typeof OwnTokenBody>): string | undefined {
  return isUnset(body, 'name') ? UNNAMED : body.name
}

export function parseOrgToken(orgId: string, body: Static<typeof CreateOrgTokenBody>): OrgTokenRequest {
  const { name, privileges = [], src_ips } = body
  const srcIps = src_ips === undefined ? null : parseSrcIps(src_ips)
  return { name, privileges: parsePrivileges(orgId, privileges), srcIps }
}

export function parseOrgTokenChange(orgId: string, body: Static<typeof UpdateOrgTokenBody>): Partial<OrgTokenRequest> {
  const { name, privileges, src_ips } = body
  return {
    ...(name !== undefined && { name }),
    ...(privileges !== undefined && { privileges: parsePrivileges(orgId, privileges) }),
    ...(src_ips !== undefined && { srcIps: parseSrcIps(src_ips) }),
    ...(isUnset(body, 'src_ips') && { srcIps: [] }),
  }
}

function parseSrcIps(texts: readonly string[]): readonly string[] {
  const wrong = texts.findIndex((text) => !isAddressRange(text))
  if (wrong >= 0) throw invalidField(`src_ips.${wrong}`, 'must be an address or a range like 10.0.0.0/8')
  return texts
}

/** @param key The whole key, only in the reply that creates the token. */
export function presentOwnToken(token: Token, key = token.keyHint): Static<typeof OwnTokenReply> {
  return {
    id: token.id,
    name: token.name,
    key,
    created_time: epochS(token.createdAt),
    last_used: token.lastUsedAt && Math.floor(epochS(token.lastUsedAt)),
  }
}

export function presentOrgToken(orgId: string, token: Token, key?: string): Static<typeof OrgTokenReply> {
  const privileges = (token.privileges ?? []).map((privilege) => presentPrivilegeOf(orgId, privilege))
  return {
    ...presentOwnToken(token, key),
    org_id: orgId,
    ...(privileges.length > 0 && { privileges }),
    ...(token.srcIps !== null && { src_ips: token.srcIps }),
    created_by: token.creatorEmail,
  }
}
