import { Type } from 'typebox'
import { type Caller, type Need, authorize, authorizeSite } from '../access/authorize.ts'
import type { OrgScope } from '../access/scope.ts'
import { Uuid } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'

/** Appliances are reached by their organization and, those that a site has, by their site. */
export interface PlaceKind {
  readonly noun: 'Org' | 'Site'
  readonly prefix: string
  /** Name of the path parameter that holds the place's id. */
  readonly param: 'org_id' | 'site_id'
  /** The scope limits what is found to what the caller may see there. */
  readonly enter: (
    ctx: Context,
    caller: Caller,
    request: { readonly id: string; readonly needs: Need },
  ) => Promise<OrgScope>
}

export const orgPlaces: PlaceKind = {
  noun: 'Org',
  prefix: '/orgs/:org_id',
  param: 'org_id',
  enter: async (_ctx, caller, { id, needs }) =>
    authorize(caller, { orgId: id, needs, ...(needs === 'read' && { sites: 'some' }) }),
}

export const sitePlaces: PlaceKind = {
  noun: 'Site',
  prefix: '/sites/:site_id',
  param: 'site_id',
  enter: async (ctx, caller, { id, needs }) => authorizeSite(ctx, caller, { siteId: id, needs }),
}

export function placeParams(kind: PlaceKind) {
  return Type.Object({ [kind.param]: Uuid })
}

export function mxedgeParams(kind: PlaceKind) {
  return Type.Object({ [kind.param]: Uuid, mxedge_id: Uuid })
}

export interface PlaceRequest {
  readonly caller: Caller
  /** As placeParams() or mxedgeParams() has checked them. */
  readonly params: Readonly<Record<string, string>>
  readonly needs: Need
}

export function enterPlace(ctx: Context, kind: PlaceKind, { caller, params, needs }: PlaceRequest): Promise<OrgScope> {
  return kind.enter(ctx, caller, { id: params[kind.param] ?? '', needs })
}

/** @returns The id of the appliance too. */
export async function enterMxedge(
  ctx: Context,
  kind: PlaceKind,
  request: PlaceRequest,
): Promise<{ readonly scope: OrgScope; readonly id: string }> {
  return { scope: await enterPlace(ctx, kind, request), id: request.params['mxedge_id'] ?? '' }
}
