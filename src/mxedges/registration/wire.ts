import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import type { AgentCertificate, AgentGateway } from '../../devices/routers/certificates.ts'
import { Registration, SigningRequest, presentRegistration } from '../../devices/routers/wire-registration.ts'
import type { Registered } from './register-agent.ts'

export const RegisterAgentBody = named(
  'MxedgeRegistration',
  Type.Object({
    code: Type.String({ minLength: 1, maxLength: 100, description: 'the `magic` of the edge appliance' }),
    csr: SigningRequest,
  }),
)

export const RegisterAgentReply = named(
  'MxedgeRegistrationResult',
  Type.Object({
    mxedge_id: Uuid,
    ...Registration.properties,
  }),
)

export function presentRegistered(
  { mxedgeId }: Registered,
  certificate: AgentCertificate,
  gateway: AgentGateway,
): Static<typeof RegisterAgentReply> {
  return { mxedge_id: mxedgeId, ...presentRegistration(certificate, gateway) }
}
