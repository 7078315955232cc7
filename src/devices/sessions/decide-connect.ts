import type { FwUpdate } from '../../platform/schema/devices.ts'
import type { DeviceFacts } from '../device.ts'

/** Reasons to connect that only a device has which has just booted. */
const bootReasons: ReadonlySet<string> = new Set(['boot', 'upgradefailed', 'crashlog', 'recovery'])

export interface KnownStatus {
  readonly connected: boolean
  readonly connectedAt: Date | null
  readonly firmware: string | null
  readonly fwupdate: FwUpdate | null
}

export interface ConnectDecision {
  /** There is evidence that it has booted since we knew it. */
  readonly booted: boolean
  /** It was down, as far as anybody was told. */
  readonly cameUp: boolean
  /** It booted, and we knew it before: worth telling. */
  readonly restarted: boolean
  readonly fwupdate: FwUpdate | null
}

/** What a connection means. A reconnect without evidence of a boot is a lost network, not a restart. */
export function decideConnect(known: KnownStatus, facts: DeviceFacts, at: Date): ConnectDecision {
  const newFirmware = known.firmware !== null && known.firmware !== facts.firmware
  const booted = newFirmware || (facts.reason !== null && bootReasons.has(facts.reason))
  return {
    booted,
    cameUp: !known.connected,
    restarted: booted && known.connectedAt !== null,
    fwupdate: endOfFwUpdate(known.fwupdate, { newFirmware, failed: facts.reason === 'upgradefailed' }, at),
  }
}

function endOfFwUpdate(
  running: FwUpdate | null,
  { newFirmware, failed }: { newFirmware: boolean; failed: boolean },
  at: Date,
): FwUpdate | null {
  if (running?.status !== 'inprogress' || !(newFirmware || failed)) return running
  const timestamp = at.getTime() / 1000
  return newFirmware
    ? { ...running, progress: 100, status: 'success', timestamp }
    : { ...running, status: 'failed', timestamp }
}
