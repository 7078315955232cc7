import { Secret, TOTP } from 'otpauth'

const PERIOD_S = 30
/** Clocks differ: the codes of the step before and the step after are accepted too (RFC 6238, 5.2). */
const WINDOW = 1

/** Generates 160 bits in base32, as RFC 4226 recommends and every app accepts. */
export function generateTotpSecret(): string {
  return new Secret({ size: 20 }).base32
}

/**
 * Returns the `otpauth://totp/...` URI for the QR code.
 *
 * @param email The app's label for the account.
 */
export function totpUri(secret: string, email: string): string {
  return totpOf(secret, email).toString()
}

/** Finds the number of the step whose code this is at `now`; null if the code is wrong. */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime()
  const totp = totpOf(secret, '')
  const delta = totp.validate({ token: code, timestamp, window: WINDOW })
  return delta === null ? null : totp.counter({ timestamp }) + delta
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Signalbox', label, secret, period: PERIOD_S, digits: 6, algorithm: 'SHA1' })
}
