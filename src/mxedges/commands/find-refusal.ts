import type { Mxedge } from '../mxedge.ts'
import type { MxedgeService } from '../sessions/facts.ts'
import type { MxedgeSession } from '../sessions/store.ts'
import type { MxedgeCommandKind, MxedgeOrder } from './command.ts'

/** The method of the agent that executes an order. */
const methods: Readonly<Record<MxedgeCommandKind, string>> = {
  service: 'service.control',
  bounce_port: 'port.bounce',
  disconnect_aps: 'aps.disconnect',
  configure: 'configure',
  stage_package: 'stage',
  upgrade_service: 'service.upgrade',
  stage_distro: 'distro.stage',
  upgrade_distro: 'distro.upgrade',
  support: 'support',
}

/** Agents announce the method only with a hook for it. */
const NO_SUPPORT = "The agent of the edge appliance can't collect support files: its hooks have no support"

/** Returns why the appliance can't execute the order; null if it can. A package may install its service. */
export function findRefusal(
  mxedge: Pick<Mxedge, 'registeredKey'>,
  session: MxedgeSession | undefined,
  order: MxedgeOrder,
): string | null {
  if (session?.connected !== true || mxedge.registeredKey === null) return 'The edge appliance is not connected'
  if (!session.facts.methods.includes(methods[order.kind])) {
    if (order.kind === 'support') return NO_SUPPORT
    return `The agent of the edge appliance has no method ${methods[order.kind]}`
  }
  if (order.kind !== 'service' && order.kind !== 'upgrade_service') return null
  const { service } = order.params
  const isUsable = ({ version }: MxedgeService) => order.kind === 'upgrade_service' || version !== null
  const known = (session.report?.services ?? []).filter(isUsable)
  if (known.some(({ name }) => name === service)) return null
  const names = known.map(({ name }) => name).join(', ') || 'none'
  return `The edge appliance has no service ${service}; its services are: ${names}`
}
