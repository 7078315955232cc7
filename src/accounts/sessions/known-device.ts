import { randomBytes } from 'node:crypto'
import { type Guesser, guesserAt } from '../../access/authentication/login-throttle.ts'
import type { Context } from '../../platform/context.ts'

const ID_BYTES = 12
const LIFETIME_MS = 365 * 24 * 3_600_000

/** The value of a device cookie: a random id, the second in which it expires, and a signature that binds both to an account. */
const DeviceCookie = /^([\w-]{16})\.(\d{1,12})\.([\w-]{43})$/

/** Returns the name of the cookie that identifies a browser that has signed in; see sessionCookieOf(). */
export function deviceCookieOf({ baseUrl }: Pick<Context, 'baseUrl'>): string {
  return baseUrl.startsWith('https:') ? '__Host-deviceid' : 'deviceid'
}

/**
 * Returns a new device cookie for the account. It grants nothing: it only gives wrong passwords of this browser their
 * own count.
 */
export function newKnownDevice(
  { secrets, clock }: Pick<Context, 'secrets' | 'clock'>,
  email: string,
): { readonly value: string; readonly expires: Date } {
  const id = randomBytes(ID_BYTES).toString('base64url')
  const expires = new Date(clock.now().getTime() + LIFETIME_MS)
  const expiresS = Math.floor(expires.getTime() / 1000)
  return { value: `${id}.${expiresS}.${secrets.sign('known_device', signedText(id, expiresS, email))}`, expires }
}

/** Returns the source of a sign-in attempt: a browser that has signed in before, or else its network. */
export function guesserOf(
  { secrets, clock }: Pick<Context, 'secrets' | 'clock'>,
  { email, srcIp, device }: { readonly email: string; readonly srcIp: string; readonly device: string | undefined },
): Guesser {
  const [, id = '', expires = '', signature = ''] = DeviceCookie.exec(device ?? '') ?? []
  const isKnown =
    Number(expires) * 1000 > clock.now().getTime() &&
    secrets.verify('known_device', signedText(id, Number(expires), email), signature)
  return isKnown ? { id: `device ${id}`, isKnown } : guesserAt(srcIp)
}

function signedText(id: string, expiresS: number, email: string): string {
  return JSON.stringify([id, expiresS, email.toLowerCase()])
}
