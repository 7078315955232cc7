import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import type { AgentCertificate, AgentGateway } from '../../devices/routers/certificates.ts'
import type { Registered } from './register-agent.ts'

/** A request with a key of 4096 bits has less than 2 KB. */
const MAX_CSR = 4096

export const RegisterAgentBody = named(
  'MxedgeRegistration',
  Type.Object({
    code: Type.String({ minLength: 1, maxLength: 100, description: 'the `magic` of the edge appliance' }),
    csr: Type.String({
      minLength: 1,
      maxLength: MAX_CSR,
      description: 'PEM of a PKCS #10 request for a P-256 key; its subject and its extensions are ignored',
    }),
  }),
)

export const RegisterAgentReply = named(
  'MxedgeRegistrationResult',
  Type.Object({
    mxedge_id: Uuid,
    certificate: Type.String({ description: 'PEM' }),
    ca: Type.String({ description: 'PEM of the CA that signed the certificate of the gateway' }),
    gateway: Type.Object({ host: Type.String(), port: Type.Integer() }),
  }),
)

export function presentRegistered(
  { mxedgeId }: Registered,
  { certificate, ca }: AgentCertificate,
  gateway: AgentGateway,
): Static<typeof RegisterAgentReply> {
  return { mxedge_id: mxedgeId, certificate, ca, gateway: { ...gateway.address() } }
}
