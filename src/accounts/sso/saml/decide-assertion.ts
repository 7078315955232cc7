import { leastOf } from '../../../platform/extremes.ts'
import { addMs } from '../../../platform/time/clock.ts'
import type { Assertion, Confirmation } from './assertion.ts'

/** The conditions under which an assertion is meant for us, now. */
export interface Expectation {
  readonly issuer: string
  /** Our name at this identity provider. */
  readonly entityId: string
  /** The URL to which it must have been sent. */
  readonly acsUrl: string
  readonly now: Date
}

export type AssertionDecision =
  | { readonly kind: 'refuse'; readonly why: string }
  | {
      readonly kind: 'accept'
      /** The id of our request that the assertion answers. The caller must still check that there is such a request. */
      readonly requestId: string
      /** The identity provider's name for the person, the same each time. */
      readonly subject: string
      /** The identity provider's name for the session. */
      readonly sessionId: string
      /** The end of the session at the identity provider; null if the assertion does not contain one. */
      readonly sessionEnd: Date | null
      /** The assertion is refused after this time. */
      readonly usableUntil: Date
    }

/** The clocks of two companies always differ a little. */
const SKEW_MS = 2 * 60_000
const MAX_SUBJECT_CHARS = 256
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient'

/**
 * Decides whether an assertion with a valid signature is meant for us, valid now, and an answer to a request. Source:
 * SAML 2.0 profiles, 4.1.4.2 and 4.1.4.3.
 */
export function decideAssertion(assertion: Assertion, expected: Expectation): AssertionDecision {
  const fault = subjectFault(assertion) ?? conditionFault(assertion, expected)
  if (fault !== null) return { kind: 'refuse', why: fault }
  const faults: string[] = []
  for (const confirmation of assertion.confirmations) {
    const { inResponseTo } = confirmation
    const usableUntil = endOf(confirmation.notOnOrAfter)
    const why = confirmationFault(confirmation, expected)
    if (why !== null || inResponseTo === null || usableUntil === null)
      faults.push(why ?? 'The subject confirmation does not say until when, or to which request')
    else
      return {
        kind: 'accept',
        requestId: inResponseTo,
        subject: assertion.nameId,
        sessionId: assertion.authentications[0]?.sessionIndex ?? assertion.id,
        sessionEnd: firstEnd(assertion),
        usableUntil,
      }
  }
  return { kind: 'refuse', why: faults[0] ?? 'The assertion has no subject confirmation' }
}

function subjectFault({ nameId, nameIdFormat }: Assertion): string | null {
  if (nameId.trim() === '' || nameId.length > MAX_SUBJECT_CHARS) return 'The NameID is empty or too long'
  // eslint-disable-next-line no-control-regex -- a name with a line break or a NUL is an attack
  if (/[\u0000-\u001f\u007f]/.test(nameId)) return 'The NameID contains control characters'
  // A transient NameID differs at each login of the same person.
  return nameIdFormat === TRANSIENT ? 'The NameID is transient: it must be one that lasts' : null
}

function conditionFault(assertion: Assertion, { issuer, entityId, now }: Expectation): string | null {
  if (assertion.issuer !== issuer) return `The issuer is ${assertion.issuer}, not ${issuer}`
  const { audiences, authentications } = assertion
  if (audiences.length === 0 || !audiences.every((names) => names.includes(entityId)))
    return `The audience is ${audiences.flat().join(', ')}, not ${entityId}`
  const ended = authentications.some(
    ({ sessionNotOnOrAfter }) => timeFault({ notBefore: null, notOnOrAfter: sessionNotOnOrAfter }, now) !== null,
  )
  return timeFault(assertion, now) ?? (ended ? 'The session at the identity provider has ended' : null)
}

function confirmationFault(confirmation: Confirmation, { acsUrl, now }: Expectation): string | null {
  const { method, recipient } = confirmation
  if (method !== BEARER) return `The subject confirmation is ${method}, not bearer`
  if (recipient !== acsUrl) return `The recipient is ${recipient ?? 'missing'}, not ${acsUrl}`
  return timeFault(confirmation, now)
}

function timeFault(
  { notBefore, notOnOrAfter }: Pick<Confirmation, 'notBefore' | 'notOnOrAfter'>,
  now: Date,
): string | null {
  if (notBefore !== null) {
    const start = parseInstant(notBefore)
    if (start === null) return `The time ${notBefore} is malformed`
    if (now < addMs(start, -SKEW_MS)) return `The assertion is not valid before ${notBefore}`
  }
  if (notOnOrAfter !== null) {
    const end = endOf(notOnOrAfter)
    if (end === null) return `The time ${notOnOrAfter} is malformed`
    if (now >= end) return `The assertion expired at ${notOnOrAfter}`
  }
  return null
}

function endOf(notOnOrAfter: string | null): Date | null {
  const end = notOnOrAfter === null ? null : parseInstant(notOnOrAfter)
  return end && addMs(end, SKEW_MS)
}

function firstEnd({ authentications }: Assertion): Date | null {
  const ends = authentications.flatMap(({ sessionNotOnOrAfter }) => endOf(sessionNotOnOrAfter) ?? [])
  return ends.length === 0 ? null : new Date(leastOf(ends.map((end) => end.getTime())))
}

/** Parses a time, which is in UTC. Source: SAML 2.0 core, 1.3.3. */
export function parseInstant(text: string): Date | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return null
  const instant = new Date(text)
  return Number.isNaN(instant.getTime()) ? null : instant
}
