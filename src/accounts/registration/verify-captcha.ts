import { AppError, invalidField } from '../../platform/errors.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, CaptchaSettings } from '../parts.ts'
import type { CaptchaAnswer } from './registration.ts'

const TIMEOUT_MS = 5000

/**
 * Asks the provider whether a person solved the CAPTCHA. Only the server chooses the provider: an attacker would choose
 * one that they can fool.
 *
 * @throws AppError invalid if the response is missing, from another provider or refused; unavailable if the provider
 *   does not answer, because blocking the provider must not open the door.
 */
export async function verifyCaptcha(
  ctx: Context,
  { operatorHttp, settings: { captcha } }: AccountParts,
  { answer, srcIp }: { readonly answer: CaptchaAnswer; readonly srcIp: string },
): Promise<void> {
  if (captcha === null) return
  if (answer.response === null || answer.response === '') throw invalidField('captcha', 'is required')
  if (answer.flavor !== captcha.flavor) {
    const name = captcha.flavor === 'google' ? 'vendor_a (google)' : 'vendor_b (hcaptcha)'
    throw invalidField('captcha_flavor', `must be ${name}`)
  }
  const result = await operatorHttp.send({
    url: captcha.verifyUrl,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from(form(captcha, answer.response, srcIp)),
    verifyCert: true,
    timeoutMs: TIMEOUT_MS,
  })
  const success = result.kind === 'answer' && result.status === 200 ? successIn(result.body) : null
  if (success === true) return
  if (success === false) throw invalidField('captcha', 'was not solved')
  ctx.log.warn({ kind: result.kind, error: errorOf(result) }, 'could not verify a CAPTCHA')
  throw new AppError('unavailable', 'The CAPTCHA could not be verified; try again later')
}

function errorOf(result: { readonly kind: string; readonly error?: string; readonly status?: number }): string {
  return result.error ?? `status ${result.status ?? 'unknown'}`
}

function form({ flavor, siteKey, secret }: CaptchaSettings, response: string, remoteIp: string): string {
  const fields = new URLSearchParams({ secret, response, remoteip: remoteIp })
  // Makes the provider refuse a response for another site. The other provider has no such field.
  if (flavor === 'hcaptcha') fields.set('sitekey', siteKey)
  return fields.toString()
}

/** Returns null if the provider's reply is not understood. */
function successIn(body: Buffer): boolean | null {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null || !('success' in parsed)) return null
    return typeof parsed.success === 'boolean' ? parsed.success : null
  } catch {
    return null
  }
}
