import type { SAML } from '@node-saml/node-saml'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { SsoDocument } from '../../tables.ts'
import { type Assertion, Text, parseAssertion, textOf } from './assertion.ts'
import { documentFault } from './decide-document.ts'
import { SsoRefusal } from '../refusal.ts'
import { parseXml } from './saml-client.ts'
import { messageOf } from '../../../platform/message-of.ts'

export interface Message {
  /** In base64, as received. */
  readonly encoded: string
  /** Our URL at which it was received. */
  readonly destination: string
  readonly saml: SAML
  readonly weakest: SsoDocument['idp_sign_algo']
}

export function decodeMessage(encoded: string): string {
  return Buffer.from(encoded, 'base64').toString('utf8')
}

/**
 * Verifies a response and returns the assertion that its signatures cover.
 *
 * @throws SsoRefusal.
 */
export async function verifyResponse({ encoded, destination, saml, weakest }: Message): Promise<Assertion> {
  await checkRoot(encoded, 'Response', { destination, weakest })
  const { profile } = await refuseErrors(() => saml.validatePostResponseAsync({ SAMLResponse: encoded }))
  const assertion = parseAssertion(profile?.getAssertion?.())
  if (assertion === null) throw new SsoRefusal('The assertion lacks a required element or repeats one')
  return assertion
}

export interface LogoutRequest {
  readonly id: string
  readonly issuer: string
  readonly subject: string
  /** The identity provider's names for the sessions; empty for all sessions of the subject. */
  readonly sessionIds: readonly string[]
  readonly issueInstant: string
}

/**
 * Verifies an identity provider's request to log a person out.
 *
 * @throws SsoRefusal unless it is signed and meant for us.
 */
export async function verifyLogoutRequest({ encoded, destination, saml, weakest }: Message): Promise<LogoutRequest> {
  const root = await checkRoot(encoded, 'LogoutRequest', { destination, weakest })
  // No other part of the message identifies the service that it is meant for.
  if (root.$.Destination === undefined) throw new SsoRefusal('The destination is missing')
  const { profile } = await refuseErrors(() => saml.validatePostRequestAsync({ SAMLRequest: encoded }))
  const { ID: id, issuer } = profile ?? {}
  if (profile === null || id === undefined || issuer === undefined) throw new SsoRefusal('The request has no ID')
  // The library returns only the first session.
  const sessionIds = (root.SessionIndex ?? []).map((index) => textOf(index))
  return { id, issuer, subject: profile.nameID, sessionIds, issueInstant: root.$.IssueInstant ?? '' }
}

const optional = Type.Optional(Type.String())
const Root = Type.Object({
  $: Type.Object({ Destination: optional, IssueInstant: optional }),
  SessionIndex: Type.Optional(Type.Array(Text)),
})

async function checkRoot(
  encoded: string,
  element: 'Response' | 'LogoutRequest',
  { destination, weakest }: Pick<Message, 'destination' | 'weakest'>,
): Promise<Type.Static<typeof Root>> {
  const xml = decodeMessage(encoded)
  const fault = documentFault(xml, weakest)
  if (fault !== null) throw new SsoRefusal(fault)
  const document = await refuseErrors(() => parseXml(xml))
  const root: unknown = typeof document === 'object' && document !== null ? Reflect.get(document, element) : undefined
  if (!Value.Check(Root, root)) throw new SsoRefusal(`The message must be a ${element}`)
  const { Destination: found } = root.$
  if (found !== undefined && found !== destination)
    throw new SsoRefusal(`The destination is ${found}, not ${destination}`)
  return root
}

/** Every error of the library means a bad message, because it only examines the message. */
async function refuseErrors<T>(examine: () => Promise<T>): Promise<T> {
  try {
    return await examine()
  } catch (error) {
    throw new SsoRefusal(messageOf(error), { cause: error })
  }
}
