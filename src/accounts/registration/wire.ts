import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import type { CaptchaSettings } from '../parts.ts'
import type { CaptchaAnswer, Registration } from './registration.ts'
import type { InviteResult, Verified } from './verify-registration.ts'

/** The specification's names of the CAPTCHA providers, and the names that its published form uses. */
const flavors = { vendor_a: 'google', vendor_b: 'hcaptcha', google: 'google', hcaptcha: 'hcaptcha' } as const
const Flavor = Type.Enum(['vendor_a', 'vendor_b', 'google', 'hcaptcha'], {
  description: '`vendor_a` is `google`, `vendor_b` is `hcaptcha`',
})

export const InfoQuery = Type.Object({
  captcha_flavor: Type.Optional(Flavor),
  recaptcha_flavor: Type.Optional(Flavor),
})

export const InfoReply = named(
  'RegistrationInfo',
  Type.Object({
    flavor: Flavor,
    required: Type.Boolean(),
    sitekey: Type.String({ description: 'public key; empty where no CAPTCHA is required' }),
  }),
)

/** Presents what a form must show. The server alone chooses the provider; its name is spelled as in the request. */
export function presentInfo(
  captcha: CaptchaSettings | null,
  query: Static<typeof InfoQuery>,
): Static<typeof InfoReply> {
  const asked = query.captcha_flavor ?? query.recaptcha_flavor ?? 'google'
  const flavor = captcha?.flavor ?? flavors[asked]
  const vendor = flavor === 'google' ? 'vendor_a' : 'vendor_b'
  return {
    flavor: asked.startsWith('vendor') ? vendor : flavor,
    required: captcha !== null,
    sitekey: captcha?.siteKey ?? '',
  }
}

const Name = Type.String({ minLength: 1, maxLength: 200 })
const Line = Type.Optional(Type.String({ maxLength: 200 }))
const Captcha = Type.Optional(
  Type.String({ maxLength: 12_288, description: 'required if the registration information says so' }),
)
const CaptchaName = Type.Optional(Type.Enum(Flavor.enum, { default: 'vendor_a' }))

/** The response to a CAPTCHA in a body, by both of its names. */
export const captchaFields = {
  captcha: Captcha,
  recaptcha: Captcha,
  captcha_flavor: CaptchaName,
  recaptcha_flavor: CaptchaName,
}
const CaptchaBody = Type.Object(captchaFields)

/** The page behind the mailed link always sends it; clients of the published interface send no body. */
export const VerifyBody = named(
  'RegistrationVerification',
  Type.Object({
    password: Type.Optional(
      Type.String({ maxLength: 1024, format: 'password', description: 'must be the registered one' }),
    ),
  }),
)

/** Source: spec, "Registration request"; the published form uses the `recaptcha` names. */
export const RegisterBody = named(
  'Registration',
  Type.Object({
    email: textOf('email', { maxLength: 64 }),
    first_name: Name,
    last_name: Name,
    org_name: Name,
    password: Type.String({ maxLength: 512, format: 'password', description: '8 to 128 characters' }),
    ...captchaFields,
    account_only: Type.Optional(Type.Boolean({ default: false, description: 'makes no organization' })),
    allow_mist: Type.Optional(Type.Boolean({ default: false })),
    city: Line,
    country: Line,
    invite_code: Type.Optional(Type.String({ maxLength: 200, description: 'where registration is by invitation' })),
    no_tracking: Type.Optional(Type.Boolean({ description: 'default: as the server is set up' })),
    referer_invite_token: Type.Optional(Type.String({ maxLength: 200 })),
    return_to: Type.Optional(Type.String({ maxLength: 2000, description: 'dropped unless the operator trusts it' })),
    state: Line,
    street_address: Line,
    'street_address 2': Line,
    zipcode: Line,
  }),
)

const profileFields = ['city', 'country', 'state', 'street_address', 'street_address 2', 'zipcode'] as const

/** Picks the fields of the specification's table and ignores all others. */
export function parseRegistration(body: Static<typeof RegisterBody>): Registration {
  const { allow_mist, no_tracking, return_to } = body
  return {
    email: parseEmail(body.email),
    password: body.password,
    captcha: parseCaptcha(body),
    inviteCode: body.invite_code ?? null,
    inviteToken: body.referer_invite_token ?? null,
    document: {
      first_name: body.first_name,
      last_name: body.last_name,
      org_name: body.org_name,
      account_only: body.account_only ?? false,
      ...(allow_mist !== undefined && { allow_mist }),
      ...(no_tracking !== undefined && { no_tracking }),
      ...(return_to !== undefined && { return_to }),
      profile: Object.fromEntries(
        profileFields.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]])),
      ),
    },
  }
}

/** @param text An address: the schemas of bodies check it. */
export function parseEmail(text: string): string {
  return text.trim().toLowerCase()
}

export function parseCaptcha(body: Static<typeof CaptchaBody>): CaptchaAnswer {
  return {
    response: body.captcha ?? body.recaptcha ?? null,
    flavor: flavors[body.captcha_flavor ?? body.recaptcha_flavor ?? 'vendor_a'],
  }
}

export const VerifyReply = named(
  'RegistrationResult',
  Type.Object({
    return_to: Type.Optional(Type.String()),
    detail: Type.Optional(Type.String()),
    invite_not_applied: Type.Optional(Type.Boolean()),
    min_length: Type.Optional(Type.Integer({ description: 'of passwords in the organization of the invitation' })),
  }),
)

export function presentVerified({ returnTo, invite }: Verified): Static<typeof VerifyReply> {
  return { ...(returnTo !== null && { return_to: returnTo }), ...presentInvite(invite) }
}

function presentInvite(invite: InviteResult): Static<typeof VerifyReply> {
  switch (invite.kind) {
    case 'none':
    case 'applied':
      return {}
    case 'not_applied':
      return { invite_not_applied: true, detail: 'The invitation could not be applied' }
    case 'unfit_password': {
      const { reason, min_length } = invite.unfit
      const detail = `The invitation could not be applied: the password ${reason}`
      return { invite_not_applied: true, detail, min_length }
    }
  }
}
