import { createLoginThrottle } from '../../access/authentication/login-throttle.ts'
import { nobody } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { AgentGateway } from '../../devices/routers/certificates.ts'
import { commonNameOf } from './identity.ts'
import { registerAgent } from './register-agent.ts'
import { RegisterAgentBody, RegisterAgentReply, presentRegistered } from './wire.ts'

/** The registration of agents, which have only a code before it. */
export function agentRegistrationOperations(clock: Clock, gateway: AgentGateway): Operation[] {
  const throttle = createLoginThrottle(clock)
  return operation({
    id: 'registerMxEdgeAgent',
    summary: 'Register the agent of an edge appliance by its code',
    method: 'POST',
    tag: 'Orgs MxEdges',
    at: nobody('/mxedges/register'),
    body: RegisterAgentBody,
    reply: RegisterAgentReply,
    run: async (ctx, { body, request }) => {
      throttle.takeFrom(request.ip)
      const signing = await gateway.checkRequest(body.csr)
      const registered = await registerAgent(ctx, { code: body.code, keySha256: signing.keySha256 })
      const certificate = await signing.sign(commonNameOf(registered), ctx.clock.now())
      throttle.giveBackTo(request.ip)
      return presentRegistered(registered, certificate, gateway)
    },
  })
}
