import type { AgentGateway } from '../devices/routers/certificates.ts'
import { lazily } from '../platform/lazily.ts'

/** Signs certificates of agents by the installation's own device CA, even where the operator runs one for devices. */
export function agentGateway(dataDir: string, place: Pick<AgentGateway, 'address' | 'httpCa'>): AgentGateway {
  // Agents rarely register, and the library takes several megabytes.
  const signer = lazily(async () => {
    const [{ loadDeviceCa }, { checkSigningRequest }] = await Promise.all([
      import('../gateway/device-ca.ts'),
      import('../gateway/sign-agent.ts'),
    ])
    const ca = await loadDeviceCa(dataDir)
    return (csrPem: string) => checkSigningRequest(ca, csrPem)
  })
  return { ...place, checkRequest: async (csrPem) => (await signer.get())(csrPem) }
}
