import { Type } from 'typebox'
import { type Caller, type Need, authorize, authorizeSite } from '../access/authorize.ts'
import type { OrgScope } from '../access/scope.ts'
import { Uuid } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import type { WebhookKey } from './store.ts'

/** Where a webhook belongs, with the proof that the caller may act there. */
export interface Place {
  readonly scope: OrgScope
  /** Null for the organization itself. */
  readonly siteId: string | null
}

/** The two kinds of places: webhooks work the same in both. */
export interface PlaceKind {
  readonly noun: 'Org' | 'Site'
  readonly prefix: string
  /** Name of the path parameter that holds the place's id. */
  readonly param: 'org_id' | 'site_id'
  readonly enter: (
    ctx: Context,
    caller: Caller,
    request: { readonly id: string; readonly needs: Need },
  ) => Promise<Place>
}

export const orgPlaces: PlaceKind = {
  noun: 'Org',
  prefix: '/orgs/:org_id',
  param: 'org_id',
  enter: async (_ctx, caller, { id, needs }) => ({ scope: authorize(caller, { orgId: id, needs }), siteId: null }),
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

export function webhookParams(kind: PlaceKind) {
  return Type.Object({ [kind.param]: Uuid, webhook_id: Uuid })
}

export interface WebhookRequest {
  readonly caller: Caller
  /** As webhookParams() has checked them. */
  readonly params: Readonly<Record<string, string>>
  readonly needs: Need
}

export async function enterWebhook(
  ctx: Context,
  kind: PlaceKind,
  { caller, params, needs }: WebhookRequest,
): Promise<{ readonly scope: OrgScope; readonly key: WebhookKey }> {
  const { scope, siteId } = await kind.enter(ctx, caller, { id: params[kind.param] ?? '', needs })
  return { scope, key: { id: params['webhook_id'] ?? '', siteId } }
}
