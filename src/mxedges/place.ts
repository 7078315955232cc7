import { Type } from 'typebox'
import type { OrgScope } from '../access/scope.ts'
import type { PlaceKind, PlaceRequest } from '../http/places.ts'
import { Uuid } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'

export function mxedgeParams(kind: PlaceKind) {
  return Type.Object({ [kind.param]: Uuid, mxedge_id: Uuid })
}

/** @returns A scope that limits what is found to what the caller may see there. */
export async function enterPlace(
  ctx: Context,
  kind: PlaceKind,
  { caller, params, needs }: PlaceRequest,
): Promise<OrgScope> {
  const id = params[kind.param] ?? ''
  const { scope } = await kind.enter(ctx, caller, { id, needs, ...(needs === 'read' && { sites: 'some' }) })
  return scope
}

/** @returns The id of the appliance too. */
export async function enterMxedge(
  ctx: Context,
  kind: PlaceKind,
  request: PlaceRequest,
): Promise<{ readonly scope: OrgScope; readonly id: string }> {
  return { scope: await enterPlace(ctx, kind, request), id: request.params['mxedge_id'] ?? '' }
}
