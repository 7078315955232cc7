import { AppError, invalidField } from '../../platform/errors.ts'
import type { Context } from '../../platform/context.ts'
import type { AccountParts, CaptchaSettings } from '../parts.ts'
import type { CaptchaAnswer } from './registration.ts'

const TIMEOUT_MS = 5000

/**
 * Asks the provider whether a person solved the CAPTCHA. Which provider is the server's choice alone:
 * who could choose would take the one that they can fool.
 *
 * @throws AppError invalid for a missing, foreign or refused answer; unavailable where the provider does
 *   not say, because a provider that can be kept from answering must not open the door.
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
  throw new AppError('unavailable', 'The CAPTCHA could not be verified. Try again later.')
}

function errorOf(result: { readonly kind: string; readonly error?: string; readonly status?: number }): string {
  return result.error ?? `status ${result.status ?? 'unknown'}`
}

function form({ flavor, siteKey, secret }: CaptchaSettings, response: string, remoteIp: string): string {
  const fields = new URLSearchParams({ secret, response, remoteip: remoteIp })
  // Refuses an answer that was given for somebody else's site. The other flavor has no such field.
  if (flavor === 'hcaptcha') fields.set('sitekey', siteKey)
  return fields.toString()
}

/** Null where the provider said nothing that can be understood. */
function successIn(body: Buffer): boolean | null {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null || !('success' in parsed)) return null
    return typeof parsed.success === 'boolean' ? parsed.success : null
  } catch {
    return null
  }
}
