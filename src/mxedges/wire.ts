import { type Static, Type } from 'typebox'
import { packageNames } from '../firmware/packages/package.ts'
import { pageQuery } from '../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { epochS } from '../platform/time/clock.ts'
import { AppError } from '../platform/errors.ts'
import type { AssignReport } from './inventory/assign-mxedges.ts'
import { type Reveal, presentSecrets } from '../orgs/secrets/secrets.ts'
import type { Mxedge } from './mxedge.ts'
import type { MxedgeSession } from './sessions/store.ts'
import { kept, mxedgeFields } from './wire-documents.ts'

/** Clients in Python write booleans with a capital. */
export const ForSite = Type.Enum(['any', 'true', 'false', 'True', 'False'], { default: 'any' })

/** Null: both assigned and unassigned. */
export function parseForSite(forSite: Static<typeof ForSite> = 'any'): boolean | null {
  return forSite === 'any' ? null : forSite.toLowerCase() === 'true'
}

export const MxedgesQuery = Type.Object({ ...pageQuery, for_site: Type.Optional(ForSite) })

const Name = Type.String({ minLength: 1, maxLength: 200 })
const Model = Type.String({ minLength: 1, maxLength: 100 })
const settable = {
  mxcluster_id: kept(Type.String({ format: 'uuid', description: 'a cluster of the organization' })),
  ...mxedgeFields,
}

/** The rest of an appliance's document is stored as received. */
export const CreateMxedgeBody = named(
  'MxedgeCreate',
  Type.Object({ name: Name, model: Model, ...settable }, { additionalProperties: true }),
)
export const UpdateMxedgeBody = named(
  'MxedgeUpdate',
  Type.Object(
    {
      name: Type.Optional(Name),
      model: Type.Optional(Type.String({ maxLength: 100, description: 'an empty text does not change the model' })),
      ...settable,
    },
    { additionalProperties: true },
  ),
)

/** Source: contract, `mxedge_versions`, which knows the first two. */
const Versions = Type.Object(
  {
    mxagent: Type.Optional(Type.String()),
    tunterm: Type.Optional(Type.String()),
    mxdas: Type.Optional(Type.String()),
    mxocproxy: Type.Optional(Type.String()),
    radsecproxy: Type.Optional(Type.String()),
  },
  { description: 'of the packages, as the appliance has reported them; absent where it never has' },
)

const ImageUrl = Type.Optional(Type.String({ description: 'expires within two hours' }))

export const MxedgeReply = named(
  'Mxedge',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      for_site: Type.Boolean({ description: 'whether a site has it' }),
      name: Type.String(),
      model: Type.String(),
      mxcluster_id: Type.Optional(Uuid),
      mac: Type.Optional(Type.String()),
      serial: Type.Optional(Type.String()),
      magic: Type.Optional(Type.String({ description: 'with which an appliance registers as this one' })),
      mxagent_registered: Type.Boolean(),
      tunterm_registered: Type.Boolean(),
      versions: Type.Optional(Versions),
      image1_url: ImageUrl,
      image2_url: ImageUrl,
      image3_url: ImageUrl,
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export interface Showing {
  /** Other secrets are presented as unset. */
  readonly reveal: Reveal
  /** The addresses of its pictures, by number. */
  readonly imageUrls: ReadonlyMap<number, string>
  /** The last one; undefined if it never had one. */
  readonly session: MxedgeSession | undefined
}

export function presentMxedge(mxedge: Mxedge, { reveal, imageUrls, session }: Showing): Static<typeof MxedgeReply> {
  const { doc, registrationCode } = mxedge
  return {
    ...presentSecrets(doc, reveal),
    ...(reveal === 'all' && { magic: registrationCode }),
    ...presentOwn(mxedge, session),
    ...presentVersions(session),
    ...Object.fromEntries(Array.from(imageUrls, ([number, url]) => [`image${number}_url`, url])),
  }
}

/** Presents the fields that the service sets, for lists, statistics and single answers. */
export function presentOwn(mxedge: Mxedge, session: MxedgeSession | undefined) {
  const { id, orgId, siteId, name, model, mxclusterId, mac, serial, registeredAt, createdAt, modifiedAt } = mxedge
  return {
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    for_site: siteId !== null,
    name,
    model,
    ...(mxclusterId !== null && { mxcluster_id: mxclusterId }),
    ...(mac !== null && { mac }),
    ...(serial !== null && { serial }),
    mxagent_registered: registeredAt !== null,
    tunterm_registered: registeredAt !== null && hasTunterm(session),
    created_time: epochS(createdAt),
    modified_time: epochS(modifiedAt),
  }
}

function presentVersions(session: MxedgeSession | undefined): Pick<Static<typeof MxedgeReply>, 'versions'> {
  if (session?.report == null) return {}
  const reported = new Map(session.report.services.map(({ name, version }) => [name, version]))
  const installed = packageNames.flatMap((name) => {
    const version = reported.get(name) ?? null
    return version === null ? [] : [[name, version] as const]
  })
  return { versions: Object.fromEntries(installed) }
}

function hasTunterm(session: MxedgeSession | undefined): boolean {
  return session?.report?.services.some(({ name, version }) => name === 'tunterm' && version !== null) ?? false
}

export const ClaimMxedgeBody = named(
  'MxedgeClaim',
  Type.Object({ code: Type.String({ minLength: 1, maxLength: 100 }) }),
)
export const ClaimMxedgeReply = named('MxedgeClaimResult', Type.Object({ id: Uuid, magic: Type.String() }))

const Ids = Type.Array(Uuid, { maxItems: 1000 })
export const AssignMxedgesBody = named('MxedgeAssignment', Type.Object({ site_id: Uuid, mxedge_ids: Ids }))
export const UnassignMxedgesBody = named('MxedgeUnassignment', Type.Object({ mxedge_ids: Ids }))

/** `reason` runs parallel to `error`, as in the inventory; both are present only where something failed. */
export const AssignMxedgesReply = named(
  'MxedgeAssignmentResult',
  Type.Object({
    success: Type.Array(Uuid),
    error: Type.Optional(Type.Array(Uuid)),
    reason: Type.Optional(Type.Array(Type.String())),
  }),
)

/** @throws AppError invalid, with the same members, if none of the appliances exists. */
export function presentAssign({ success, unknown }: AssignReport): Static<typeof AssignMxedgesReply> {
  if (unknown.length === 0) return { success: [...success] }
  const reply = { success: [...success], error: [...unknown], reason: unknown.map(() => 'not found') }
  if (success.length > 0) return reply
  throw new AppError('invalid', 'No such edge appliance', reply)
}
