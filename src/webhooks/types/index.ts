import { invalidField } from '../../platform/errors.ts'
import { PULL } from '../delivery-options.ts'
import { awsSnsType } from './aws-sns.ts'
import { googlePubsubType } from './google-pubsub.ts'
import { oauth2Type } from './oauth2.ts'
import { type ReceiverType, plainType } from './receiver-type.ts'
import { splunkType } from './splunk.ts'

/** The types of receivers. Source: contract, webhook_type; `pull` is our own. */
export const webhookTypes = ['http-post', 'oauth2', 'splunk', 'aws-sns', 'google-pubsub', PULL] as const

type WebhookType = (typeof webhookTypes)[number]

const receiverTypes: Readonly<Record<WebhookType, ReceiverType>> = {
  'http-post': plainType,
  oauth2: oauth2Type,
  splunk: splunkType,
  'aws-sns': awsSnsType,
  'google-pubsub': googlePubsubType,
  // Its receivers verify the messages that they fetch as those of http-post.
  [PULL]: plainType,
}

/** Secret fields of receivers of any type. Webhooks store those of all types. */
export const typeSecrets: readonly string[] = Object.values(receiverTypes).flatMap(({ secrets }) => secrets)
export const hiddenSecrets: readonly string[] = Object.values(receiverTypes).flatMap(({ hidden }) => hidden)

/** @throws AppError invalid, which names the field. */
export function receiverTypeOf(type: unknown): ReceiverType {
  const known = webhookTypes.find((name) => name === (type ?? 'http-post'))
  if (known === undefined)
    throw invalidField('type', `${JSON.stringify(type)} is not one of ${webhookTypes.join(', ')}`)
  return receiverTypes[known]
}
