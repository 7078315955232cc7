import { configurationOf, configurationSha256 } from '../../mxedges/commands/configuration.ts'
import type { MxedgeCommandToSend } from '../../mxedges/commands/store.ts'
import { type StepLimits, applianceLimits } from '../../mxedges/commands/time-limits.ts'
import type { OrderAddresses } from '../links/appliance-link.ts'
import { deviceText } from '../device-text.ts'
import { type Artifact as Image, imageDeleted } from '../commands/artifacts.ts'
import type { EncodedCommand, Outcome, Rejection } from '../driver.ts'
import {
  type Artifact,
  type CommandError,
  type Method,
  type ParamsOf,
  errorCodes,
  isCommandError,
  isCommandResult,
} from './messages.ts'

export type Call = { [M in Method]: { readonly method: M; readonly params: ParamsOf<M> } }[Method]

/** A call with how long the agent may stay silent about it. */
export interface LimitedCall<C> extends EncodedCommand<C> {
  readonly limits: StepLimits
}

export interface Reply {
  readonly result: unknown
  readonly error: unknown
}

/**
 * Returns the call that carries a command to the agent of an edge appliance.
 */
export function encodeOrder(
  { id, mxedge, ...order }: MxedgeCommandToSend,
  { image, uploadUri }: OrderAddresses,
): LimitedCall<Call> | Rejection {
  const command_id = id
  switch (order.kind) {
    case 'service':
      return call({ method: 'service.control', params: { command_id, ...order.params } })
    case 'bounce_port': {
      const { ports, hold_ms } = order.params
      return call({ method: 'port.bounce', params: { command_id, ports: [...ports], hold_ms } }, hold_ms)
    }
    case 'disconnect_aps':
      return call({ method: 'aps.disconnect', params: { command_id, macs: [...order.params.macs] } })
    case 'configure': {
      const configuration = configurationOf(mxedge)
      const sha256 = configurationSha256(configuration)
      return call({ method: 'configure', params: { command_id, sha256, configuration: { ...configuration } } })
    }
    case 'stage_package':
      if (image === null) return imageDeleted
      return call({ method: 'stage', params: { command_id, artifact: encodeArtifact(image) } })
    case 'upgrade_service': {
      if (image === null) return imageDeleted
      const { service, version } = order.params
      const params = { command_id, service, version, artifact: encodeArtifact(image) }
      return call({ method: 'service.upgrade', params })
    }
    case 'stage_distro':
      return call({ method: 'distro.stage', params: { command_id, ...order.params } })
    case 'upgrade_distro':
      return call({ method: 'distro.upgrade', params: { command_id, ...order.params } })
    case 'support':
      return call({ method: 'support', params: { command_id, uri: uploadUri() } })
  }
}

export function encodeArtifact({ uri, sizeBytes, sha256, signature }: Image): Artifact {
  return { uri, size: sizeBytes, sha256, ...(signature !== null && { signature }) }
}

/** @param heldMs How long the command waits between its parts. */
function call(encoded: Call, heldMs = 0): LimitedCall<Call> {
  const limits = applianceLimits[encoded.method]
  return { kind: 'call', call: encoded, timeoutMs: limits.callMs + heldMs, limits }
}

/** JSON-RPC errors: the agent of this version can never execute the call. */
const neverExecuted: ReadonlySet<number> = new Set([
  errorCodes.parseError,
  errorCodes.invalidRequest,
  errorCodes.unknownMethod,
  errorCodes.invalidParams,
])

/** Returns null for a reply that can't be understood or that is about another command: it proves nothing. */
export function decodeReply({ id }: { readonly id: string }, { result, error }: Reply): Outcome | null {
  if (isCommandError(error)) return isAbout(error, id) ? rejection(error) : null
  if (!isCommandResult(result) || result.command_id !== id) return null
  return { kind: 'done', text: deviceText(result.text) }
}

/** An agent that can't read a call can't name its command. */
function isAbout({ code, data }: CommandError, commandId: string): boolean {
  return data === undefined ? neverExecuted.has(code) : data.command_id === commandId
}

function rejection({ code, message }: CommandError): Outcome {
  return { kind: 'rejected', code: String(code), text: deviceText(message), final: neverExecuted.has(code) }
}
