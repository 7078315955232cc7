import { Type } from 'typebox'
import { notFound } from '../platform/errors.ts'
import { type Topic, topics as emitted, topicsFor } from '../events/topics.ts'

/** Topics for webhooks of organizations, whether or not this release emits them. Source: contract, "Webhooks". */
const contractOrgTopics = [
  'client-info',
  'client-join',
  'client-sessions',
  'guest-authorizations',
  'minis-application',
  'minis-reachability',
  'nac-accounting',
  'nac-events',
] as const

/** The same for webhooks of sites only. */
const contractSiteTopics = [
  'asset-raw',
  'asset-raw-rssi',
  'client-latency',
  'discovered-raw-rssi',
  'location',
  'location-asset',
  'location-centrak',
  'location-client',
  'location-sdk',
  'location-unclient',
  'occupancy-alerts',
  'rssizone',
  'sdkclient-scan-data',
  'vbeacon',
  'wifi-conn-raw',
  'wifi-unconn-raw',
  'zone',
] as const

/**
 * Names of topics in the messages that the contract shows, where they differ from the topic. None of these is emitted.
 * `device-events` keeps its name, although one form in the contract has `device_events`.
 */
const wireNames: Readonly<Record<string, string>> = {
  'location-asset': 'location_asset',
  'location-centrak': 'location',
  'location-client': 'location_client',
  'location-sdk': 'location_sdk',
  'location-unclient': 'location_unclient',
  'nac-events': 'nac_events',
  'sdkclient-scan-data': 'sdkclient_scan_data',
}

/** Names by which clients also subscribe, because the contract spells its topics in several ways. */
const aliases: Readonly<Record<string, string>> = {
  alarm: 'alarms',
  audit: 'audits',
  device_events: 'device-events',
  device_updowns: 'device-updowns',
  location_asset: 'location-asset',
  location_client: 'location-client',
  location_sdk: 'location-sdk',
  location_unclient: 'location-unclient',
  mxedge_events: 'mxedge-events',
  nac_events: 'nac-events',
  sdkclient_scan_data: 'sdkclient-scan-data',
  site_sle: 'site-sle',
}

/** Topics that clients subscribe to although the list does not show them: a ping is sent on request only. */
const unlisted: ReadonlySet<string> = new Set(['ping', 'site-sle'])

/** Returns the topic that clients know by this name. */
export function topicNameOf(topic: string): string {
  return (Object.hasOwn(aliases, topic) ? aliases[topic] : null) ?? topic
}

export type WebhookScope = 'org' | 'site'

const orgTopics = new Set<string>([...topicsFor('org'), ...contractOrgTopics])
const siteTopics = new Set<string>([...orgTopics, ...topicsFor('site'), ...contractSiteTopics])
const allowed: Record<WebhookScope, ReadonlySet<string>> = { org: orgTopics, site: siteTopics }

/** Returns why a webhook of `scope` can't subscribe to `topic`; null when it can. */
export function topicFault(topic: string, scope: WebhookScope): string | null {
  const name = topicNameOf(topic)
  if (allowed[scope].has(name) || unlisted.has(name)) return null
  const quoted = JSON.stringify(topic)
  return allowed.site.has(name)
    ? `${quoted} is a topic of site webhooks only`
    : `${quoted} is not a known topic: GET /api/v1/const/webhook_topics lists them`
}

export interface WebhookTopic {
  readonly key: string
  /** The `topic` of its messages. */
  readonly wireName: string
  /** Other names by which clients may subscribe. */
  readonly aliases: readonly string[]
  readonly forOrg: boolean
  /** False: this release has no events of the topic. */
  readonly isEmitted: boolean
  readonly hasDeliveryResults: boolean
  readonly allowsSingleEventPerMessage: boolean
}

export const webhookTopics: readonly WebhookTopic[] = [...siteTopics]
  .map((key) => topicOf(key, orgTopics.has(key)))
  .sort((a, b) => (a.key < b.key ? -1 : 1))

/** A topic that nothing emits yet has no searchable results. */
function topicOf(key: string, forOrg: boolean): WebhookTopic {
  const names = { key, wireName: wireNames[key] ?? key, aliases: aliasesOf(key) }
  if (!isEmitted(key))
    return { ...names, forOrg, isEmitted: false, hasDeliveryResults: false, allowsSingleEventPerMessage: false }
  const { hasDeliveryResults, allowsSingleEventPerMessage } = emitted[key]
  return { ...names, forOrg, isEmitted: true, hasDeliveryResults, allowsSingleEventPerMessage }
}

function aliasesOf(key: string): string[] {
  return Object.keys(aliases).filter((alias) => aliases[alias] === key)
}

/**
 * Returns the JSON Schema of a topic's messages.
 * @param name The topic, or another name by which clients subscribe to it.
 * @throws AppError not_found for a topic without events.
 */
export function messageSchemaOf(name: string): object {
  const topic = topicNameOf(name)
  if (!isEmitted(topic)) throw notFound(name)
  const { event } = emitted[topic]
  const message = Type.Object({ topic: Type.Literal(topic), events: Type.Array(event, { minItems: 1 }) })
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: `Message of the topic ${topic}`, ...message }
}

/** True if events of one of the topics become messages by themselves. */
export function isAnySent(topics: readonly string[]): boolean {
  return topics.map(topicNameOf).some((name) => isEmitted(name) && !unlisted.has(name))
}

function isEmitted(key: string): key is Topic {
  return Object.hasOwn(emitted, key)
}
