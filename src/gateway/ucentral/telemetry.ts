import { randomUUID } from 'node:crypto'
import type { Call } from '../websockets/jsonrpc.ts'
import type { GatewayCall } from './messages.ts'

/**
 * The id of the call that requests a report. The device answers it after it has sent the messages that it queued while
 * it was offline. Acceptance and refusal are equivalent for us, so one id serves every session.
 */
export const TELEMETRY_CALL_ID = 2

/** A device without a configuration reports its state and uptime only on request. */
export const TELEMETRY_INTERVAL_S = 60

/** The id of the call that requests the state at once. Its report is what counts, so its answer is ignored. */
export const STATE_CALL_ID = 3

export function telemetryOf(serial: string): GatewayCall<'telemetry'> {
  return { serial, interval: TELEMETRY_INTERVAL_S, types: ['state'] }
}

/** Requests a report of the state now. An access point that reports regularly keeps its interval whatever `telemetry` asks for. */
export function encodeStateRequest(serial: string): Call {
  const params: GatewayCall<'request'> = { serial, message: 'state', request_uuid: randomUUID() }
  return { method: 'request', params }
}
