import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'

/** The grant of a registration code: routers may register for the organization until it expires. */
export interface CodeGrant {
  readonly orgId: string
  /** Serial numbers of the only routers that may use it; null: any router. */
  readonly assetIds: readonly string[] | null
  /** Epoch seconds. */
  readonly expiresS: number
}

/** Texts of the code before its signature; short, because people paste it. */
interface Payload {
  readonly o: string
  readonly e: number
  readonly a?: readonly string[]
}

type Keys = Pick<Context, 'secrets' | 'clock'>

/** Returns the code. It contains its grant and a signature, so nothing is stored. */
export function registrationCodeOf({ secrets }: Pick<Context, 'secrets'>, grant: CodeGrant): string {
  const payload: Payload = {
    o: grant.orgId,
    e: grant.expiresS,
    ...(grant.assetIds !== null && { a: grant.assetIds }),
  }
  const text = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return `${text}.${secrets.sign('router_registration', text)}`
}

/** Returns the grant of the code; null for a code of another service, and for an expired one. */
export function parseRegistrationCode({ secrets, clock }: Keys, code: string): CodeGrant | null {
  const [text = '', signature = '', ...rest] = code.trim().split('.')
  if (rest.length > 0 || !secrets.verify('router_registration', text, signature)) return null
  // The signature proves that registrationCodeOf() wrote it.
  const {
    o: orgId,
    e: expiresS,
    a: assetIds = null,
  } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Payload
  return epochS(clock.now()) < expiresS ? { orgId, assetIds, expiresS } : null
}
