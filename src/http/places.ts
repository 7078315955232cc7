import { Type } from 'typebox'
import { type Caller, type Need, type OrgRequest, authorize, authorizeSite } from '../access/authorize.ts'
import type { OrgScope } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { Uuid } from './schemas.ts'

/** Where something belongs, with the proof that the caller may act there. */
export interface Place {
  readonly scope: OrgScope
  /** Null for the organization itself. */
  readonly siteId: string | null
}

/** The two kinds of places that an object can have; their operations differ by path alone. */
export interface PlaceKind {
  readonly noun: 'Org' | 'Site'
  readonly prefix: string
  /** Name of the path parameter that holds the place's id. */
  readonly param: 'org_id' | 'site_id'
  /** @throws AppError as authorize() and authorizeSite(). */
  readonly enter: (
    ctx: Context,
    caller: Caller,
    /** `sites` as in authorize(); a site is one of them anyway. */
    request: Omit<OrgRequest, 'orgId'> & { readonly id: string },
  ) => Promise<Place>
}

export const orgPlaces: PlaceKind = {
  noun: 'Org',
  prefix: '/orgs/:org_id',
  param: 'org_id',
  enter: async (_ctx, caller, { id, ...request }) => ({
    scope: authorize(caller, { orgId: id, ...request }),
    siteId: null,
  }),
}

export const sitePlaces: PlaceKind = {
  noun: 'Site',
  prefix: '/sites/:site_id',
  param: 'site_id',
  enter: async (ctx, caller, { id, needs }) => {
    const scope = await authorizeSite(ctx, caller, { siteId: id, needs })
    return { scope, siteId: scope.siteId }
  },
}

export function placeParams(kind: PlaceKind) {
  return Type.Object({ [kind.param]: Uuid })
}

export interface PlaceRequest {
  readonly caller: Caller
  /** As a schema with the place's parameter has checked them. */
  readonly params: Readonly<Record<string, string>>
  readonly needs: Need
}
