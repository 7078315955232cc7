import type { ShownField, Texts } from '../../display/forms/edits.ts'
import { keysOf } from '../../display/keys-of.ts'
import { capital } from '../../display/texts/capital.ts'
import type { WebhookBody } from '../webhook-calls.ts'
import { type Webhook, textIn } from '../webhook.ts'

type WebhookType = NonNullable<WebhookBody['type']>

const typeLabels: Readonly<Record<WebhookType, string>> = {
  'http-post': 'HTTP',
  oauth2: 'HTTP with OAuth2',
  splunk: 'Splunk',
  'aws-sns': 'AWS SNS',
  'google-pubsub': 'Google Pub/Sub',
  pull: 'None: it fetches them',
}

/** The types of receivers, as options of the form. */
export const webhookTypes = keysOf(typeLabels).map((value) => ({ value, label: typeLabels[value] }))

/** The kind of input of a field, and of its value in the request. */
type Kind = 'text' | 'path' | 'secret' | 'lines' | 'headers' | 'list' | 'rate' | 'choice' | 'switch'

export interface WebhookField {
  readonly name: string
  readonly label: string
  readonly kind: Kind
  readonly description?: string
  /** The options of a choice. */
  readonly options?: readonly { readonly value: string; readonly label: string }[]
  /** The types of receivers that have it; absent: all. */
  readonly types?: readonly WebhookType[]
}

const called: readonly WebhookType[] = ['http-post', 'oauth2', 'splunk', 'aws-sns', 'google-pubsub']
const signed: readonly WebhookType[] = ['http-post', 'oauth2', 'aws-sns', 'google-pubsub', 'pull']

/** Every field of a webhook that the form offers but its type and its topics. */
const webhookFields: readonly WebhookField[] = [
  { name: 'name', label: 'Name', kind: 'text' },
  { name: 'url', label: 'Address', kind: 'text', types: called, description: 'Where messages are sent by POST' },
  { name: 'splunk_token', label: 'Splunk token', kind: 'secret', types: ['splunk'] },
  { name: 'oauth2_token_url', label: 'Address of tokens', kind: 'text', types: ['oauth2'] },
  {
    name: 'oauth2_grant_type',
    label: 'Grant',
    kind: 'text',
    types: ['oauth2'],
    description: 'client_credentials or password',
  },
  { name: 'oauth2_client_id', label: 'Client id', kind: 'text', types: ['oauth2'] },
  { name: 'oauth2_client_secret', label: 'Client secret', kind: 'secret', types: ['oauth2'] },
  { name: 'oauth2_username', label: 'User, for the grant password', kind: 'text', types: ['oauth2'] },
  { name: 'oauth2_password', label: 'Password, for the grant password', kind: 'secret', types: ['oauth2'] },
  { name: 'oauth2_scopes', label: 'Scopes', kind: 'list', types: ['oauth2'], description: 'Separated by spaces' },
  { name: 'aws_topic_arn', label: 'ARN of the topic', kind: 'text', types: ['aws-sns'] },
  { name: 'aws_access_key_id', label: 'Access key', kind: 'text', types: ['aws-sns'] },
  { name: 'aws_secret_access_key', label: 'Secret access key', kind: 'secret', types: ['aws-sns'] },
  {
    name: 'google_service_account',
    label: 'Key file of the service account',
    kind: 'lines',
    types: ['google-pubsub'],
    description: 'Its JSON text, which is never shown again',
  },
  {
    name: 'secret',
    label: 'Secret',
    kind: 'secret',
    types: signed,
    description: 'Signs each message, so that the receiver can verify the sender',
  },
  {
    name: 'headers',
    label: 'Headers',
    kind: 'headers',
    types: called,
    description: 'One per line, such as Name: value',
  },
  {
    name: 'filter',
    label: 'Filter',
    kind: 'path',
    description: "A JSONPath, such as $.events[?@.type == 'AP_DISCONNECTED']; only events that it matches are sent",
  },
  {
    name: 'order',
    label: 'Order',
    kind: 'choice',
    types: called,
    description: 'Which messages wait until the former one has been taken or given up',
    options: [
      { value: '', label: 'None: no message waits' },
      { value: 'device', label: 'Those of the same device' },
      { value: 'webhook', label: 'All of the webhook' },
    ],
  },
  {
    name: 'rate_limit',
    label: 'Rate limit',
    kind: 'rate',
    types: called,
    description: 'Such as 10 per second, or 100 per minute; further messages wait. Empty: none',
  },
  {
    name: 'client_cert',
    label: 'Client certificate',
    kind: 'lines',
    types: called,
    description: 'PEM, for receivers that require one (mutual TLS), and those of its issuers',
  },
  {
    name: 'client_key',
    label: 'Key of the client certificate',
    kind: 'lines',
    types: called,
    description: 'PEM, which is never shown again',
  },
  { name: 'ed25519_signatures', label: 'Sign by a public key (Ed25519)', kind: 'switch', types: signed },
  { name: 'verify_cert', label: "Check the receiver's certificate", kind: 'switch', types: called },
  { name: 'single_event_per_message', label: 'One event in each message', kind: 'switch' },
  { name: 'enabled', label: 'Enabled', kind: 'switch' },
]

/** The content of the form. A switch is `true` or empty. */
export interface WebhookValues {
  readonly type: string
  readonly topics: readonly string[]
  /** By the name of the field; absent: empty. */
  readonly texts: Readonly<Record<string, string>>
}

export const emptyValues: WebhookValues = {
  type: 'http-post',
  topics: [],
  texts: { verify_cert: 'true', enabled: 'true' },
}

/** Returns the initial content of the form; secrets are never filled in. */
export function valuesOf(webhook: Webhook): WebhookValues {
  const texts = webhookFields.map(({ name, kind }) => [name, textOf(webhook, name, kind)] as const)
  return { type: webhook.type, topics: webhook.topics, texts: Object.fromEntries(texts) }
}

/** Returns the content by names, in which the type and the topics have names too. */
export function textsOf({ type, topics, texts }: WebhookValues): Texts {
  return { ...texts, type, topics: topics.join(' ') }
}

export function valuesIn(texts: Texts): WebhookValues {
  const { type = '', topics = '' } = texts
  return { type, topics: topics.split(' ').filter((topic) => topic !== ''), texts }
}

export function shownField(name: string): ShownField {
  return webhookFields.find((field) => field.name === name) ?? { label: capital(name) }
}

function textOf(webhook: Webhook, name: string, kind: Kind): string {
  const value = webhook[name]
  if (kind === 'secret' || kind === 'lines') return ''
  if (kind === 'switch') return value === true ? 'true' : ''
  if (kind === 'list') return Array.isArray(value) ? value.join(' ') : ''
  if (kind === 'rate') return rateText(value)
  if (kind !== 'headers') return textIn(webhook, name)
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .map(([header, text]) => `${header}: ${String(text)}`)
    .join('\n')
}

function rateText(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('messages' in value && 'per' in value)) return ''
  return `${String(value.messages)} per ${String(value.per)}`
}

export function fieldsOf(type: string): readonly WebhookField[] {
  return webhookFields.filter(({ types }) => types === undefined || types.some((one) => one === type))
}

/**
 * Returns the changed fields of a request: an empty secret leaves the stored one unchanged. If the receiver fetches its
 * messages from now on, the fields that only concern sending are unset, because the server refuses them.
 */
export function bodyOf(values: WebhookValues, before: WebhookValues): WebhookBody {
  const changed = fieldsOf(values.type).flatMap(({ name, kind }) => {
    const text = values.texts[name] ?? ''
    return text === (before.texts[name] ?? '') ? [] : [[name, fieldOf(kind, text)] as const]
  })
  // Only a webhook that exists has an address. It may have a certificate, too, which the form does not know.
  const wasCalled = values.type === 'pull' && (before.texts['url'] ?? '') !== ''
  const unset = wasCalled ? webhookFields.filter(({ types, kind }) => types === called && kind !== 'switch') : []
  return {
    ...Object.fromEntries(changed),
    ...Object.fromEntries(unset.map(({ name }) => [`-${name}`, ''])),
    type: values.type as WebhookType,
    topics: [...values.topics],
  }
}

function fieldOf(kind: Kind, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  if (kind === 'list') return text.split(/\s+/).filter((part) => part !== '')
  if (kind === 'choice' || kind === 'path') return text === '' ? null : text
  if (kind === 'rate') return rateOf(text)
  if (kind !== 'headers') return text
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  // A line without a colon becomes a header without a value, which the server refuses with the reason.
  return Object.fromEntries(lines.map((line) => [headerName(line), line.slice(headerName(line).length + 1).trim()]))
}

/** A text of another form stays one, which the server refuses with the reason. */
function rateOf(text: string): unknown {
  if (text.trim() === '') return null
  const [, messages, per] = /^\s*(\d+)\s+per\s+(\w+)\s*$/.exec(text) ?? []
  return per === undefined ? text : { messages: Number(messages), per }
}

function headerName(line: string): string {
  const end = line.indexOf(':')
  return end < 0 ? line : line.slice(0, end)
}
