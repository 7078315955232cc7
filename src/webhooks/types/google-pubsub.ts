import { type KeyObject, createPrivateKey } from 'node:crypto'
import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'
import { isObject } from '../../platform/json/is-object.ts'
import type { TokenGrant } from '../requests/oauth2.ts'
import { MAX_RSA_BITS, isLongRsa } from '../requests/rsa-limit.ts'
import {
  type ReceiverType,
  explanationOf,
  parseAddress,
  parseJsonObject,
  plainEncoder,
  plainType,
  requireText,
} from './receiver-type.ts'

const TYPE = 'google-pubsub'
const FIELD = 'google_service_account'

/** Shorter keys may not be able to sign at all. */
const MIN_RSA_BITS = 2048

/** A topic of Google Cloud Pub/Sub: `url` is the address by which its interface publishes to it. */
export const googlePubsubType: ReceiverType = {
  ...plainType,
  secrets: [FIELD],
  hidden: [FIELD],
  check(fields, stored) {
    const { pathname } = parseAddress('url', fields['url'])
    if (!/^\/v1\/projects\/[^/]+\/topics\/[^/]+:publish$/.test(pathname))
      throw invalidField('url', `must end in /v1/projects/PROJECT/topics/TOPIC:publish for type ${TYPE}`)
    const { url, assertion } = grantOf(fields)
    const isNew = stored['type'] !== TYPE || stored[FIELD] !== fields[FIELD]
    if (isNew && assertion !== null && isOfWrongLength(createPrivateKey(assertion.keyPem)))
      throw invalidField(FIELD, `private_key must have ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits`)
    return { [FIELD]: url }
  },
  open: (fields) => ({
    ...plainEncoder,
    grant: grantOf(fields),
    createRequest: ({ common, signatures, topic, body }) => ({
      common,
      headers: signatures,
      body: Buffer.from(
        JSON.stringify({ messages: [{ data: body.toString('base64'), attributes: { ...signatures, topic } }] }),
      ),
    }),
  }),
  explain(body) {
    const { error } = parseJsonObject(body) ?? {}
    if (!isObject(error)) return null
    return explanationOf(...[error['status'], error['message']].map((text) => (typeof text === 'string' ? text : null)))
  },
}

/**
 * Reads the key file of a service account, as Google's console writes it.
 * @throws AppError invalid, which names the field.
 */
function grantOf(fields: Document): TokenGrant {
  const account = parseJsonObject(requireText(fields, FIELD, TYPE))
  if (account?.['type'] !== 'service_account')
    throw invalidField(FIELD, 'must be the JSON text of the key file of a service account')
  const [issuer, keyPem] = [memberOf(account, 'client_email'), memberOf(account, 'private_key')]
  const url = parseAddress(FIELD, memberOf(account, 'token_uri'))
  if (!isRsaKey(keyPem)) throw invalidField(FIELD, 'private_key must be an RSA key in PEM')
  const keyId = account['private_key_id']
  return {
    url,
    client: null,
    form: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' },
    assertion: {
      issuer,
      keyPem,
      keyId: typeof keyId === 'string' ? keyId : null,
      scope: 'https://www.googleapis.com/auth/pubsub',
    },
  }
}

function memberOf(account: Document, name: string): string {
  const value = account[name]
  if (typeof value !== 'string' || value === '') throw invalidField(FIELD, `must have the member ${name}`)
  return value
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    // The caller names the field.
    return false
  }
}

function isOfWrongLength(key: KeyObject): boolean {
  return isLongRsa(key) || (key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS
}
