import type { DeviceFacts } from '../device.ts'

export interface KnownStatus {
  readonly connected: boolean
  readonly connectedAt: Date | null
  readonly firmware: string | null
  /** The boot that it named last; null if it names none. */
  readonly bootId: string | null
  /** True if it is down, and for too short a time to announce: see its updown threshold. */
  readonly outageUnreported: boolean
}

export interface ConnectDecision {
  /** The outage that ends here had been announced. */
  readonly cameUp: boolean
  /** True if a known device has booted, which an event then reports. */
  readonly restarted: boolean
}

type BootFacts = Pick<DeviceFacts, 'firmware' | 'boot_id'>

/**
 * True if a connection proves a boot since the last known one. Another version proves it, and so does another boot id.
 * The reason for connecting proves only that the client started: `recovery` comes from its watchdog after five minutes
 * offline, and each manual start repeats the cause of the last boot. The first report of uptime decides.
 */
export function provesBoot(known: Pick<KnownStatus, 'firmware' | 'bootId'>, facts: BootFacts): boolean {
  const otherVersion = known.firmware !== null && known.firmware !== facts.firmware
  const otherBoot = known.bootId !== null && facts.boot_id !== undefined && known.bootId !== facts.boot_id
  return otherVersion || otherBoot
}

/** Decides which events report a connection. */
export function decideConnect(known: KnownStatus, facts: BootFacts): ConnectDecision {
  return {
    cameUp: !known.connected && !known.outageUnreported,
    restarted: provesBoot(known, facts) && known.connectedAt !== null,
  }
}
