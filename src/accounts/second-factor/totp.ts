import { Secret, TOTP } from 'otpauth'

const PERIOD_S = 30
/** Clocks differ: the step before and the one after are good too (RFC 6238, 5.2). */
const WINDOW = 1

/** 160 bits in base32, as RFC 4226 advises and every app takes. */
export function generateTotpSecret(): string {
  return new Secret({ size: 20 }).base32
}

/** For the QR code: `otpauth://totp/...`. @param email What the app calls the account. */
export function totpUri(secret: string, email: string): string {
  return totpOf(secret, email).toString()
}

/** Number of the step in which the code is good at `now`; null where it is wrong. */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime()
  const totp = totpOf(secret, '')
  const delta = totp.validate({ token: code, timestamp, window: WINDOW })
  return delta === null ? null : totp.counter({ timestamp }) + delta
}

function totpOf(secret: string, label: string): TOTP {
  return new TOTP({ issuer: 'Signalbox', label, secret, period: PERIOD_S, digits: 6, algorithm: 'SHA1' })
}
