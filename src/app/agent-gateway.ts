import type { AgentGateway } from '../devices/routers/certificates.ts'
import { createAgentSigner } from '../gateway/certificates/agent-signer.ts'

/** Returns the gateway data for the registration of agents. @param dataDir The folder of the installation. */
export function agentGateway(dataDir: string, place: Pick<AgentGateway, 'address' | 'httpCa'>): AgentGateway {
  return { ...place, checkRequest: createAgentSigner(dataDir) }
}
