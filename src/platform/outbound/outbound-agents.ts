import { hash } from 'node:crypto'
import type { HttpConnections } from './http-connections.ts'

/** The TLS identity of the service: PEM texts. */
export interface ClientIdentity {
  readonly cert: string
  readonly key: string
}

/** The properties that requests must share to share connections. */
export interface AgentKind {
  readonly verifyCert: boolean
  readonly identity?: ClientIdentity
}

export interface Agents {
  of(kind: AgentKind): HttpConnections
  destroy(): Promise<void>
}

/**
 * Limits the agents of identities, because each stores parsed certificates. The least recently used one is closed
 * first.
 */
const MAX_IDENTITIES = 200

/**
 * A connection that has proved one identity must never carry the requests of another, so each identity has its own
 * agent.
 */
export function createAgents(open: (kind: AgentKind) => HttpConnections): Agents {
  const verifying = open({ verifyCert: true })
  const trusting = open({ verifyCert: false })
  const ofIdentities = new Map<string, HttpConnections>()
  const closing = new Set<HttpConnections>()

  /** Closes the agent after its current requests. */
  async function close(name: string, agent: HttpConnections): Promise<void> {
    ofIdentities.delete(name)
    closing.add(agent)
    await agent.close()
    closing.delete(agent)
  }

  return {
    of({ verifyCert, identity }) {
      if (identity === undefined) return verifyCert ? verifying : trusting
      const name = hash('sha256', JSON.stringify([verifyCert, identity.cert, identity.key]))
      const agent = ofIdentities.get(name) ?? open({ verifyCert, identity })
      ofIdentities.delete(name)
      ofIdentities.set(name, agent)
      const [oldest] = ofIdentities
      if (ofIdentities.size > MAX_IDENTITIES && oldest !== undefined) void close(...oldest)
      return agent
    },
    async destroy() {
      const all = [verifying, trusting, ...ofIdentities.values(), ...closing]
      await Promise.all(all.map((agent) => agent.destroy()))
    },
  }
}
