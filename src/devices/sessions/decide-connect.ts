import type { DeviceFacts } from '../device.ts'

/** Reasons to connect that only a device has which has just booted. */
const bootReasons: ReadonlySet<string> = new Set(['boot', 'upgradefailed', 'crashlog', 'recovery'])

export interface KnownStatus {
  readonly connected: boolean
  readonly connectedAt: Date | null
  readonly firmware: string | null
  /** It is down, and so shortly that nobody was told: see its updown threshold. */
  readonly outageUntold: boolean
}

export interface ConnectDecision {
  /** There is evidence that it has booted since we knew it. */
  readonly booted: boolean
  /** It was down, as far as anybody was told. */
  readonly cameUp: boolean
  /** It booted, and we knew it before: worth telling. */
  readonly restarted: boolean
}

/** What a connection means. A reconnect without evidence of a boot is a lost network, not a restart. */
export function decideConnect(known: KnownStatus, facts: DeviceFacts): ConnectDecision {
  const newFirmware = known.firmware !== null && known.firmware !== facts.firmware
  const booted = newFirmware || (facts.reason !== null && bootReasons.has(facts.reason))
  return {
    booted,
    cameUp: !known.connected && !known.outageUntold,
    restarted: booted && known.connectedAt !== null,
  }
}
