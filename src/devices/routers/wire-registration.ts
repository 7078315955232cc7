import { type Static, Type } from 'typebox'
import type { AgentCertificate, AgentGateway } from './certificates.ts'

/** A request with a key of 4096 bits has less than 2 KB. */
const MAX_CSR = 4096

/** What routers and edge appliances send and get alike, because the same agent registers both. */
export const SigningRequest = Type.String({
  minLength: 1,
  maxLength: MAX_CSR,
  description: 'PEM of a PKCS #10 request for a P-256 key; its subject and its extensions are ignored',
})

export const Registration = Type.Object({
  certificate: Type.String({ description: 'PEM' }),
  ca: Type.String({ description: 'PEM of the CA that signed the certificate of the gateway' }),
  gateway: Type.Object({ host: Type.String(), port: Type.Integer() }),
})

export function presentRegistration(
  { certificate, ca }: AgentCertificate,
  gateway: AgentGateway,
): Static<typeof Registration> {
  return { certificate, ca, gateway: { ...gateway.address() } }
}
