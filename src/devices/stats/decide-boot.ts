/** The known facts about a device's last boot. */
export interface KnownBoot {
  /** Start of the session that reports. */
  readonly connectedAt: Date | null
  /** The same instant in service time. */
  readonly connectedMs: number | null
  readonly bootedAt: Date | null
  /** Service time at which that was last known to be true. */
  readonly bootKnownMs: number | null
  /** The uptime that it last reported since that boot. */
  readonly uptimeS: number | null
}

/** A boot that a device reports. */
export interface ReportedBoot {
  /** Epoch seconds by the device's own clock. */
  readonly atS: number
  readonly cause: string
}

export interface BootClaims {
  readonly uptimeS: number | null
  /**
   * True if that is the uptime of the part that has been up for the longest. It goes back when that part leaves or
   * restarts, although the device as a whole continues.
   */
  readonly isOfParts?: boolean
  readonly boot: ReportedBoot | null
}

/** Uptimes and boot times are whole seconds. */
const RESOLUTION_MS = 1000
/** The clock of a device may be this far ahead. */
const MAX_SKEW_MS = 60_000

/** A boot that is certain; `at` is its latest possible time. */
export interface ProvenBoot {
  readonly at: Date
  /** Null if the device gives none. */
  readonly cause: string | null
}

/** When a report arrived: by the wall clock, and in service time. */
export interface ReportTime {
  readonly at: Date
  readonly atMs: number
}

/**
 * Returns the boot that a report proves, if it differs from the known one. An uptime below the former one proves a
 * boot. So does one that is shorter than the service time from then to the start of the session: service time neither
 * jumps with the wall clock nor counts outages of the service, so it can only be too short. The time at which the report
 * arrives proves nothing, because a report may be late; a boot ends the session, and the uptime was read during it. Any
 * other uptime continues the former one. A device of several parts has booted only if none of them has been up since the
 * last report.
 */
export function findNewBoot(
  known: KnownBoot,
  { uptimeS, isOfParts = false, boot }: BootClaims,
  time: ReportTime,
): ProvenBoot | null {
  const reported = boot === null ? null : checkReportedBoot(known, boot)
  if (reported !== null || uptimeS === null) return reported
  const bootedAtMs = time.at.getTime() - uptimeS * 1000
  const wentBack = known.uptimeS !== null && uptimeS < known.uptimeS
  const continues = isOfParts && bootedAtMs + RESOLUTION_MS < lastKnownMsOf(known)
  const { bootKnownMs, connectedMs } = known
  const isShort =
    bootKnownMs !== null && connectedMs !== null && connectedMs - uptimeS * 1000 - RESOLUTION_MS > bootKnownMs
  return (wentBack && !continues) || isShort ? { at: new Date(bootedAtMs), cause: null } : null
}

/** Returns when the device last reported its uptime, by the wall clock. */
function lastKnownMsOf({ bootedAt, uptimeS }: KnownBoot): number {
  return bootedAt === null ? -Infinity : bootedAt.getTime() + (uptimeS ?? 0) * 1000
}

/**
 * The client of switches reports a boot whenever the client itself starts. So the time that it names must lie between
 * the last sign of life and the connection. If the device's clock is wrong, the event proves nothing; the uptime
 * follows within a minute.
 */
function checkReportedBoot(known: KnownBoot, { atS, cause }: ReportedBoot): ProvenBoot | null {
  const { connectedAt, bootedAt } = known
  if (connectedAt === null || bootedAt === null) return null
  const atMs = atS * 1000
  if (atMs - RESOLUTION_MS <= lastKnownMsOf(known) || atMs > connectedAt.getTime() + MAX_SKEW_MS) return null
  return { at: new Date(Math.min(atMs, connectedAt.getTime())), cause }
}
