import { Type } from 'typebox'
import type { OrgScope } from '../access/scope.ts'
import type { PlaceKind, PlaceRequest } from '../http/places.ts'
import { Uuid } from '../http/schemas.ts'
import type { Context } from '../platform/context.ts'
import type { WebhookKey } from './store.ts'

export function webhookParams(kind: PlaceKind) {
  return Type.Object({ [kind.param]: Uuid, webhook_id: Uuid })
}

export async function enterWebhook(
  ctx: Context,
  kind: PlaceKind,
  { caller, params, needs }: PlaceRequest,
): Promise<{ readonly scope: OrgScope; readonly key: WebhookKey }> {
  const { scope, siteId } = await kind.enter(ctx, caller, { id: params[kind.param] ?? '', needs })
  return { scope, key: { id: params['webhook_id'] ?? '', siteId } }
}
