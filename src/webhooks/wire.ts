import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import { omitFields } from '../http/bodies/documents.ts'
import { type Conditions, filterQuery, parseFilters } from '../http/lists/filters.ts'
import { pageQuery } from '../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import { type Reveal, presentSecrets } from '../orgs/secrets/secrets.ts'
import { epochS } from '../platform/time/clock.ts'
import type { Document } from '../platform/json/document.ts'
import { webhookFilters } from './filters.ts'
import { MAX_FILTER_LENGTH, MAX_OVERLAP_S, MAX_RATE, deliveryOrders, ratePeriods } from './delivery-options.ts'
import type { WebhookTopic } from './topics.ts'
import { clientCertificateEnd } from './requests/client-certificate.ts'
import { webhookTypes } from './types/index.ts'
import { type Webhook, hiddenFields } from './webhook.ts'
import { withoutQueries } from './requests/without-query.ts'

const TextOrNull = Type.Union([Type.String(), Type.Null()])

const MAX_URL_LENGTH = 2000

export const WebhooksQuery = Type.Object({ ...pageQuery, ...filterQuery(webhookFilters) })

/** @throws AppError invalid naming the field. */
export function parseWebhooks(query: Static<typeof WebhooksQuery>): Conditions<typeof webhookFilters> {
  return parseFilters(webhookFilters, query)
}

const settable = {
  name: Type.Optional(TextOrNull),
  type: Type.Optional(Type.Enum(webhookTypes, { default: 'http-post' })),
  topics: Type.Optional(
    Type.Array(Type.String(), { maxItems: 100, description: 'of those that GET /const/webhook_topics lists' }),
  ),
  enabled: Type.Optional(Type.Boolean({ default: true })),
  verify_cert: Type.Optional(Type.Boolean({ default: true })),
  secret: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: 'signs the messages; a key of Standard Webhooks is `whsec_` and padded base64',
    }),
  ),
  secret_overlap_s: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OVERLAP_S,
      default: 86_400,
      description: 'for how long a secret that is replaced signs beside the new one',
    }),
  ),
  filter: Type.Optional(
    Type.Union([
      Type.String({
        maxLength: MAX_FILTER_LENGTH,
        description: 'a JSONPath (RFC 9535, a subset): only events of which it selects something are sent',
      }),
      Type.Null(),
    ]),
  ),
  order: Type.Optional(
    Type.Union([
      Type.Enum(deliveryOrders, {
        description: 'no message is sent before the former one, of the webhook or of the same device, has ended',
      }),
      Type.Null(),
    ]),
  ),
  rate_limit: Type.Optional(
    Type.Union([
      Type.Object(
        {
          messages: Type.Integer({ minimum: 1, maximum: MAX_RATE }),
          per: Type.Enum(ratePeriods),
        },
        { additionalProperties: false, description: 'more messages wait' },
      ),
      Type.Null(),
    ]),
  ),
  client_cert: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'PEM, for receivers that ask' })),
  client_key: Type.Optional(
    Type.Union([Type.String(), Type.Null()], { description: 'PEM, the key of client_cert; no answer shows it' }),
  ),
  ed25519_signatures: Type.Optional(
    Type.Boolean({ default: false, description: 'sign by a key whose public part GET /webhook_keys shows' }),
  ),
  headers: Type.Optional(Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()])),
  single_event_per_message: Type.Optional(Type.Boolean({ default: false })),
  splunk_token: Type.Optional(TextOrNull),
  oauth2_client_id: Type.Optional(Type.String()),
  oauth2_client_secret: Type.Optional(Type.String()),
  oauth2_grant_type: Type.Optional(Type.Enum(['client_credentials', 'password'])),
  oauth2_password: Type.Optional(Type.String()),
  oauth2_scopes: Type.Optional(Type.Array(Type.String())),
  oauth2_token_url: Type.Optional(Type.String({ maxLength: MAX_URL_LENGTH })),
  oauth2_username: Type.Optional(Type.String()),
  aws_topic_arn: Type.Optional(Type.String({ description: 'for type aws-sns; url is the endpoint of its region' })),
  aws_access_key_id: Type.Optional(Type.String()),
  aws_secret_access_key: Type.Optional(Type.String({ description: 'no answer shows it' })),
  google_service_account: Type.Optional(
    Type.String({ description: 'for type google-pubsub: the JSON text of its key file; no answer shows it' }),
  ),
  assetfilter_ids: Type.Optional(Type.Array(Uuid)),
}

const Url = textOf('url', { minLength: 1, maxLength: MAX_URL_LENGTH })

/** The required fields depend on the type, but no type accepts an empty body. */
export const CreateWebhookBody = named(
  'WebhookCreate',
  Type.Object({ url: Type.Optional(Url), ...settable }, { additionalProperties: true, minProperties: 1 }),
)
export const UpdateWebhookBody = named(
  'WebhookUpdate',
  Type.Object({ url: Type.Optional(Url), ...settable }, { additionalProperties: true }),
)
export const WebhookReply = named(
  'Webhook',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      for_site: Type.Boolean(),
      enabled: Type.Boolean(),
      type: Type.String(),
      verify_cert: Type.Boolean(),
      topics: Type.Array(Type.String()),
      former_secrets_until: Type.Optional(
        Type.Array(Timestamp, { description: 'until when secrets that were replaced still sign; the newest first' }),
      ),
      client_cert_expires_time: Type.Optional(Type.Number({ description: 'when `client_cert` expires' })),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

/**
 * @param reveal Secrets and headers that it doesn't reveal are left out. They are not masked, because a client that sends
 * the webhook back would store the mask. So are the queries of its addresses.
 */
export function presentWebhook(webhook: Webhook, reveal: Reveal): Static<typeof WebhookReply> {
  const { siteId } = webhook
  const certificateEnd = clientCertificateEnd(webhook.doc)
  const all: Document = { ...webhook.doc, ...omitFields(webhook.secrets ?? {}, hiddenFields) }
  const secret = ['headers', ...Object.keys(webhook.secrets ?? {})]
  return {
    type: 'http-post',
    verify_cert: true,
    ...(reveal === 'all'
      ? all
      : {
          ...omitFields(
            presentSecrets(all, reveal),
            secret.filter((name) => !isDeepStrictEqual(all[name], reveal.written[name])),
          ),
          ...withoutQueries(webhook.doc, reveal.written),
        }),
    id: webhook.id,
    org_id: webhook.orgId,
    ...(siteId !== null && { site_id: siteId }),
    for_site: siteId !== null,
    enabled: webhook.enabled,
    topics: [...webhook.topics],
    ...(webhook.retired.length > 0 && {
      former_secrets_until: webhook.retired.map(({ untilMs }) => untilMs / 1000),
    }),
    ...(certificateEnd !== null && { client_cert_expires_time: epochS(certificateEnd) }),
    created_time: epochS(webhook.createdAt),
    modified_time: epochS(webhook.modifiedAt),
  }
}

export const WebhookTopicsReply = Type.Array(
  named(
    'WebhookTopic',
    Type.Object({
      key: Type.String(),
      wire_name: Type.String({ description: 'the topic of its messages' }),
      aliases: Type.Array(Type.String(), { description: 'other names by which webhooks may subscribe' }),
      for_org: Type.Boolean(),
      emitted: Type.Boolean({ description: 'false: webhooks may subscribe to it, and get nothing yet' }),
      has_delivery_results: Type.Boolean(),
      allows_single_event_per_message: Type.Boolean(),
      internal: Type.Boolean({ description: 'false: every topic is for everybody' }),
    }),
  ),
)

export function presentTopic(topic: WebhookTopic): Static<typeof WebhookTopicsReply>[number] {
  return {
    key: topic.key,
    wire_name: topic.wireName,
    aliases: [...topic.aliases],
    for_org: topic.forOrg,
    emitted: topic.isEmitted,
    has_delivery_results: topic.hasDeliveryResults,
    allows_single_event_per_message: topic.allowsSingleEventPerMessage,
    internal: false,
  }
}
