import { generateKeyPairSync } from 'node:crypto'
import { signingRequest } from '../../../src/agent/signing-request.ts'
import type { Signalbox } from '../signalbox.ts'

/** An agent that has registered as an edge appliance. PEM texts. */
export interface RegisteredAgent {
  readonly id: string
  readonly certificate: string
  readonly ca: string
  readonly key: string
}

const AT_ONCE = 8

/** Creates edge appliances and registers an agent for each. */
export async function registerAgents(signalbox: Signalbox, count: number): Promise<RegisteredAgent[]> {
  const agents: RegisteredAgent[] = []
  let left = count
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      agents.push(await registerAgent(signalbox))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return agents
}

async function registerAgent({ orgId, call }: Signalbox): Promise<RegisteredAgent> {
  const made = await call('POST', `/api/v1/orgs/${orgId}/mxedges`, { name: 'Edge', model: 'ME-VM' })
  const { id, magic } = made as { readonly id: string; readonly magic: string }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const body = { code: magic, csr: signingRequest(privateKey) }
  const { certificate, ca } = (await call('POST', '/api/v1/mxedges/register', body)) as RegisteredAgent
  return { id, certificate, ca, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}
