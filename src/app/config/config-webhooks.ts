import { Type } from 'typebox'
import { type WebhookLimits, defaultWebhookLimits as defaults } from '../../webhooks/limits/limits.ts'

const MAX_WEBHOOKS = 1_000_000
const MAX_PENDING = 1_000_000_000

const limit = (maximum: number, what: string, value: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, description: `${what}; default ${value}` }))

/** Limits for webhooks; part of the environment of config.ts. */
export const webhookEnvironment = {
  SIGNALBOX_WEBHOOK_ORG_MAX: limit(MAX_WEBHOOKS, 'webhooks of an organization and its sites together', defaults.perOrg),
  SIGNALBOX_WEBHOOK_SITE_MAX: limit(MAX_WEBHOOKS, 'webhooks of a site', defaults.perSite),
  SIGNALBOX_WEBHOOK_MAX_PENDING: limit(
    MAX_PENDING,
    'messages that may wait for a webhook; more are dropped and counted',
    defaults.pendingPerWebhook,
  ),
  SIGNALBOX_WEBHOOK_ORG_MAX_PENDING: limit(
    MAX_PENDING,
    'messages that may wait for all webhooks of an organization',
    defaults.pendingPerOrg,
  ),
}

const Webhooks = Type.Object(webhookEnvironment)

export function parseWebhookLimits(env: Type.Static<typeof Webhooks>): WebhookLimits {
  return {
    perOrg: env.SIGNALBOX_WEBHOOK_ORG_MAX ?? defaults.perOrg,
    perSite: env.SIGNALBOX_WEBHOOK_SITE_MAX ?? defaults.perSite,
    pendingPerWebhook: env.SIGNALBOX_WEBHOOK_MAX_PENDING ?? defaults.pendingPerWebhook,
    pendingPerOrg: env.SIGNALBOX_WEBHOOK_ORG_MAX_PENDING ?? defaults.pendingPerOrg,
  }
}
