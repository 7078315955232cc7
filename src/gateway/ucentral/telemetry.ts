import type { GatewayCall } from './messages.ts'

/**
 * The id of the call that requests a report. The device answers it after it has sent the messages that it queued while
 * it was offline. Acceptance and refusal are equivalent for us, so one id serves every session.
 */
export const TELEMETRY_CALL_ID = 2

/** A device without a configuration reports its state and uptime only on request. */
export const TELEMETRY_INTERVAL_S = 60

export function telemetryOf(serial: string): GatewayCall<'telemetry'> {
  return { serial, interval: TELEMETRY_INTERVAL_S, types: ['state'] }
}
