import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import type { AgentCertificate, AgentGateway } from './certificates.ts'
import type { RegisteredRouter } from './register-router.ts'
import type { CodeGrant } from './registration-code.ts'
import { Registration, SigningRequest, presentRegistration } from './wire-registration.ts'

const DAY_S = 86_400
const DEFAULT_TTL_S = 7 * DAY_S
const MAX_TTL_S = 366 * DAY_S
const MAX_ASSETS = 50
const MAX_SERIAL = 64

/** Source: contract, `getOrg128TRegistrationCommands`. */
export const RegisterCommandQuery = Type.Object({
  ttl: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TTL_S,
      default: DEFAULT_TTL_S,
      description: 'seconds until the code expires',
    }),
  ),
  asset_ids: Type.Optional(
    Type.String({
      maxLength: 8000,
      description: 'serial numbers of the only routers that may use the code; several are separated by commas',
    }),
  ),
})

/** @throws AppError invalid naming `asset_ids`. */
export function parseCodeGrant(
  { ttl = DEFAULT_TTL_S, asset_ids: assets = '' }: Static<typeof RegisterCommandQuery>,
  { orgId, now }: { readonly orgId: string; readonly now: Date },
): CodeGrant {
  const ids = assets
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '')
  const distinct = [...new Set(ids)]
  if (distinct.length > MAX_ASSETS)
    throw invalidField('asset_ids', `has ${distinct.length} serial numbers, more than ${MAX_ASSETS}`)
  const long = distinct.find((id) => id.length > MAX_SERIAL)
  if (long !== undefined)
    throw invalidField('asset_ids', `${long.slice(0, 20)}... is longer than ${MAX_SERIAL} characters`)
  return { orgId, assetIds: distinct.length === 0 ? null : distinct, expiresS: Math.floor(epochS(now)) + ttl }
}

/** Source: contract, `response_router_128t_register_cmd`. */
export const RegisterCommandReply = named(
  'SsrRegistrationCommand',
  Type.Object({
    registration_code: Type.String(),
    router_shell_cmd: Type.String({ description: 'starts the agent on the router; it contains the code' }),
  }),
)

/** @param code Characters of base64 and a point, so no shell needs quotes around them. */
export function presentRegisterCommand(code: string, baseUrl: string): Static<typeof RegisterCommandReply> {
  const agent = 'node signalbox-agent.mjs --role ssr --state /var/lib/signalbox-agent'
  const hooks = '/etc/signalbox-agent/hooks.json'
  return {
    registration_code: code,
    router_shell_cmd: `SIGNALBOX_AGENT_CODE=${code} ${agent} --url ${baseUrl} --hooks ${hooks}`,
  }
}

/** A code with all the serial numbers that it may name. */
const MAX_CODE = 8192

const Word = Type.String({ minLength: 1, maxLength: MAX_SERIAL, pattern: '^[\\x21-\\x7e]+( [\\x21-\\x7e]+)*$' })

export const RegisterRouterBody = named(
  'SsrRegistration',
  Type.Object({
    code: Type.String({
      minLength: 1,
      maxLength: MAX_CODE,
      description: 'the `registration_code` of the organization',
    }),
    csr: SigningRequest,
    mac: textOf('mac'),
    serial: Word,
    model: Word,
  }),
)

export const RegisterRouterReply = named(
  'SsrRegistrationResult',
  Type.Object({
    device_id: Uuid,
    ...Registration.properties,
  }),
)

export function presentRegisteredRouter(
  { deviceId }: RegisteredRouter,
  certificate: AgentCertificate,
  gateway: AgentGateway,
): Static<typeof RegisterRouterReply> {
  return { device_id: deviceId, ...presentRegistration(certificate, gateway) }
}
