import { type Topic, topics as emitted } from '../events/topics.ts'

/** Topics for webhooks of organizations, whether or not this release emits them. Source: contract, "Webhooks". */
const orgTopics = [
  'alarms',
  'audits',
  'client-info',
  'client-join',
  'client-sessions',
  'device-events',
  'device-updowns',
  'guest-authorizations',
  'mxedge-events',
  'minis-application',
  'minis-reachability',
  'nac-accounting',
  'nac-events',
] as const

/** Topics for webhooks of sites only, in addition to all of the above. */
const siteOnlyTopics = [
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

export type WebhookScope = 'org' | 'site'

const allowed: Record<WebhookScope, ReadonlySet<string>> = {
  org: new Set(orgTopics),
  site: new Set([...orgTopics, ...siteOnlyTopics]),
}

/** Returns why a webhook of `scope` can't subscribe to `topic`; null when it can. */
export function topicFault(topic: string, scope: WebhookScope): string | null {
  if (allowed[scope].has(topic)) return null
  return allowed.site.has(topic) ? `${topic} is a topic of site webhooks only` : `${topic} is not a known topic`
}

export interface WebhookTopic {
  readonly key: string
  readonly forOrg: boolean
  readonly hasDeliveryResults: boolean
  readonly allowsSingleEventPerMessage: boolean
}

export const webhookTopics: readonly WebhookTopic[] = [
  ...orgTopics.map((key) => topicOf(key, true)),
  ...siteOnlyTopics.map((key) => topicOf(key, false)),
].sort((a, b) => (a.key < b.key ? -1 : 1))

/** A topic that nothing emits yet has no searchable results. */
function topicOf(key: string, forOrg: boolean): WebhookTopic {
  const known = isEmitted(key)
  return {
    key,
    forOrg,
    hasDeliveryResults: known && emitted[key].hasDeliveryResults,
    allowsSingleEventPerMessage: known && emitted[key].allowsSingleEventPerMessage,
  }
}

function isEmitted(key: string): key is Topic {
  return Object.hasOwn(emitted, key)
}
