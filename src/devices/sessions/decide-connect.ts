import type { DeviceFacts } from '../device.ts'

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

/**
 * What a connection means. Another version proves a boot. The reason to connect proves only that the client has
 * started: `recovery` is its watchdog after five minutes offline, and each start by hand names the cause of the last
 * boot again. The first report of uptime will tell.
 */
export function decideConnect(known: KnownStatus, facts: Pick<DeviceFacts, 'firmware'>): ConnectDecision {
  const booted = known.firmware !== null && known.firmware !== facts.firmware
  return {
    booted,
    cameUp: !known.connected && !known.outageUntold,
    restarted: booted && known.connectedAt !== null,
  }
}
