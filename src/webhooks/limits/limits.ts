import { AppError } from '../../platform/errors.ts'

/** The operator's limits for each organization. */
export interface WebhookLimits {
  /** Webhooks of an organization and of all its sites. */
  readonly perOrg: number
  readonly perSite: number
  /** Messages that wait for one receiver. */
  readonly pendingPerWebhook: number
  /** Messages that wait for all receivers of an organization. */
  readonly pendingPerOrg: number
}

/** A single receiver that is down can't exhaust the limit of its organization. */
export const defaultWebhookLimits: WebhookLimits = {
  perOrg: 1000,
  perSite: 100,
  pendingPerWebhook: 250_000,
  pendingPerOrg: 1_000_000,
}

/**
 * @param counts The webhooks that exist; `site` is null for a webhook of an organization.
 * @throws AppError invalid if there is no room for another one.
 */
export function assertRoomForWebhook(
  { perOrg, perSite }: WebhookLimits,
  counts: { readonly org: number; readonly site: number | null },
): void {
  if (counts.org >= perOrg)
    throw new AppError('invalid', `An organization and its sites may have at most ${perOrg} webhooks`)
  if (counts.site !== null && counts.site >= perSite)
    throw new AppError('invalid', `A site may have at most ${perSite} webhooks`)
}

/** Limits the messages of a lane that wait in memory; others stay in the database. A claim finds as many. */
export const MAX_IN_MEMORY = 256
