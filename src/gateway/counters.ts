import { type Counters, createCounters } from '../platform/process/counters.ts'

const names = [
  'sessions',
  'refused_busy',
  'refused_network',
  'refused_late',
  'refused_silent',
  'refused_tls',
  'refused_identity',
  'refused_request',
  'refused_flooding',
  'refused_preamble',
  'refused_host_key',
  'refused_ssh',
  'refused_netconf',
  'refused_foreign',
  'malformed_frame',
  'unknown_method',
  'invalid_message',
  'unknown_reply',
  'wrong_serial',
  'not_connected',
  'repeated_connect',
  'left_silently',
  'message_failed',
  'lost_lease',
  'flood',
] as const

/** Counts the sessions that were opened and everything that the gateway drops or refuses. */
export type GatewayCounters = Counters<(typeof names)[number]>

export function createGatewayCounters(): GatewayCounters {
  return createCounters(names)
}
