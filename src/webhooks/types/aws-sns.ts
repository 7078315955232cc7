import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import { replaceHeaders } from '../requests/headers.ts'
import {
  type ReceiverType,
  type SignedMessage,
  allHeaders,
  explanationOf,
  parseAddress,
  plainEncoder,
  plainType,
  requireText,
} from './receiver-type.ts'
import { type AwsCredentials, signAwsRequest } from './sign-aws.ts'

const TYPE = 'aws-sns'
const FORM = 'application/x-www-form-urlencoded'
/** Partition, region, account and name of a topic. */
const arn = /^arn:aws[a-z-]*:sns:([a-z0-9-]{1,40}):\d{12}:([A-Za-z0-9_-]{1,256}(?:\.fifo)?)$/

/** A topic of Amazon SNS: `url` is the endpoint of its region. */
export const awsSnsType: ReceiverType = {
  ...plainType,
  secrets: ['aws_secret_access_key'],
  hidden: ['aws_secret_access_key'],
  check(fields) {
    credentialsOf(fields)
    if (parseAddress('url', fields['url']).search !== '')
      throw invalidField('url', `must have no query for type ${TYPE}, such as https://sns.REGION.amazonaws.com/`)
    return {}
  },
  open(fields) {
    const [credentials, topicArn] = [credentialsOf(fields), String(fields['aws_topic_arn'])]
    const url = parseAddress('url', fields['url'])
    return {
      ...plainEncoder,
      createRequest(message) {
        const body = Buffer.from(new URLSearchParams(publishForm(topicArn, message)).toString())
        const request = { url, service: 'sns', contentType: FORM, body, at: message.at }
        const headers = allHeaders({ common: message.common, headers: message.signatures })
        return { common: null, headers: replaceHeaders(headers, signAwsRequest(credentials, request)), body }
      },
    }
  },
  explain: (body) =>
    explanationOf(...['Code', 'Message'].map((name) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1])),
}

/** @throws AppError invalid, which names the field. */
function credentialsOf(fields: Document): AwsCredentials {
  const [, region] = arn.exec(requireText(fields, 'aws_topic_arn', TYPE)) ?? []
  if (region === undefined)
    throw invalidField('aws_topic_arn', 'must have the form arn:aws:sns:REGION:ACCOUNT:NAME, with 12 digits of account')
  const accessKeyId = requireText(fields, 'aws_access_key_id', TYPE)
  if (!/^\w{16,128}$/.test(accessKeyId)) throw invalidField('aws_access_key_id', 'must be 16 to 128 letters and digits')
  return { accessKeyId, secretAccessKey: requireText(fields, 'aws_secret_access_key', TYPE), region }
}

/**
 * Subscribers get the signatures and the topic as attributes, by which they can also filter. A FIFO topic preserves the
 * order of each of our topics, and drops repeated messages by their id.
 */
function publishForm(topicArn: string, { id, topic, body, signatures }: SignedMessage): Record<string, string> {
  const attributes = Object.entries({ ...signatures, topic }).flatMap(([name, value], index) => {
    const entry = `MessageAttributes.entry.${index + 1}`
    return [
      [`${entry}.Name`, name],
      [`${entry}.Value.DataType`, 'String'],
      [`${entry}.Value.StringValue`, value],
    ]
  })
  return {
    Action: 'Publish',
    Version: '2010-03-31',
    TopicArn: topicArn,
    Message: body.toString('utf8'),
    ...(topicArn.endsWith('.fifo') && { MessageGroupId: topic, MessageDeduplicationId: id }),
    ...Object.fromEntries(attributes),
  }
}
