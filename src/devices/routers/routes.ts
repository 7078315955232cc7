import { createLoginThrottle } from '../../access/authentication/login-throttle.ts'
import { nobody, org } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { AgentGateway } from './certificates.ts'
import { routerNameOf } from './identity.ts'
import { registerRouter } from './register-router.ts'
import { registrationCodeOf } from './registration-code.ts'
import {
  RegisterCommandQuery,
  RegisterCommandReply,
  RegisterRouterBody,
  RegisterRouterReply,
  parseCodeGrant,
  presentRegisterCommand,
  presentRegisteredRouter,
} from './wire.ts'

const tag = 'Orgs Devices - SSR'

/** Two names for one operation. Source: contract, Orgs Devices - SSR. */
const commandOperations: Operation[] = (
  [
    { id: 'getOrg128TRegistrationCommands', path: '/128routers/register_cmd', summary: 'under the older name' },
    { id: 'getOrgSsrRegistrationCommands', path: '/ssr/register_cmd', summary: '' },
  ] as const
).flatMap(({ id, path, summary }) =>
  operation({
    id,
    summary: `Get the command by which SSR routers register${summary && `, ${summary}`}`,
    method: 'GET',
    tag,
    // The code is a secret.
    at: org(path, { needs: 'write' }),
    query: RegisterCommandQuery,
    reply: RegisterCommandReply,
    run: async (ctx, { scope, query }) => {
      const grant = parseCodeGrant(query, { orgId: scope.orgId, now: ctx.clock.now() })
      return presentRegisterCommand(registrationCodeOf(ctx, grant), ctx.baseUrl)
    },
  }),
)

/** The registration of SSR routers. Their agents have only a code until they are registered. */
export function routerOperations(clock: Clock, gateway: AgentGateway): Operation[] {
  const throttle = createLoginThrottle(clock)
  return [
    ...commandOperations,
    ...operation({
      id: 'registerSsrAgent',
      summary: 'Register the agent of an SSR router by a code of its organization',
      method: 'POST',
      tag,
      at: nobody('/ssr/register'),
      body: RegisterRouterBody,
      reply: RegisterRouterReply,
      run: async (ctx, { body: { csr, ...claim }, request }) => {
        throttle.takeFrom(request.ip)
        const signing = await gateway.checkRequest(csr)
        const router = await registerRouter(ctx, { ...claim, keySha256: signing.keySha256 })
        const certificate = await signing.sign(routerNameOf(router.mac), ctx.clock.now())
        throttle.giveBackTo(request.ip)
        return presentRegisteredRouter(router, certificate, gateway)
      },
    }),
  ]
}
