import type { DeviceCapabilities } from '../../devices/tables.ts'
import { routerLimits } from '../../mxedges/commands/time-limits.ts'
import type { Driver, DriverCommand, DriverDevice, Rejection } from '../driver.ts'
import { type LimitedCall, type Reply, decodeReply, encodeArtifact } from './driver.ts'
import { type RouterHello, type RouterMethod, type RouterParams, isRouterMethod } from './router-messages.ts'

/** Without the command's id, which the link adds. */
export type RouterCall = {
  [M in RouterMethod]: { readonly method: M; readonly params: Omit<RouterParams<M>, 'command_id'> }
}[RouterMethod]

export interface RouterMessages {
  readonly hello: Pick<RouterHello, 'methods' | 'nodes'>
  readonly call: RouterCall
  readonly reply: Reply
  /** Agents answer each command by its call. */
  readonly event: unknown
}

/** SSR routers, by Signalbox's own agent. */
export const routerDriver = {
  capabilitiesOf,
  encode,
  decodeReply,
  decodeEvent: () => null,
} satisfies Driver<RouterMessages>

/** An agent does not offer a method for which its operator has configured no hook. */
function capabilitiesOf({ methods, nodes }: RouterMessages['hello']): DeviceCapabilities {
  const offered = [...new Set(methods.filter(isRouterMethod))]
  return {
    commands: offered,
    restart_members: [],
    restart_nodes: offered.includes('restart') ? [...new Set(nodes)] : [],
  }
}

function encode(_: DriverDevice, command: DriverCommand): LimitedCall<RouterCall> | Rejection {
  switch (command.kind) {
    case 'restart': {
      if (command.member !== undefined) return unsupported('A router has no members')
      const { node } = command
      return call({ method: 'restart', params: node === undefined ? {} : { node } })
    }
    case 'stage': {
      const params = { version: command.version, artifact: encodeArtifact(command) }
      return call({ method: 'stage', params })
    }
    case 'activate': {
      const { version, sha256 } = command
      return call({ method: 'activate', params: { version, sha256 } })
    }
    case 'support':
      return call({ method: 'support', params: { uri: command.uri } })
    case 'upgrade':
      return unsupported('Routers download and install firmware in two steps')
    case 'locate':
    case 'unlocate':
    case 'ping':
    case 'restore_backup':
    case 'snapshot':
      return unsupported('The agent of a router has no such method')
  }
}

function call(encoded: RouterCall): LimitedCall<RouterCall> {
  const limits = routerLimits[encoded.method]
  return { kind: 'call', call: encoded, timeoutMs: limits.callMs, limits }
}

function unsupported(text: string): Rejection {
  return { kind: 'rejected', code: 'unsupported', text, final: true }
}
