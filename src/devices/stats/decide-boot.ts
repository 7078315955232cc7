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
  /** True if the uptime may have been read before the session was recorded, as part of the hello. */
  readonly isOfHello?: boolean
  readonly boot: ReportedBoot | null
}

/** Uptimes and boot times are whole seconds. */
const RESOLUTION_MS = 1000
/** The clock of a device may be this far ahead. */
const MAX_SKEW_MS = 60_000
/** The uptime in a report may have been read this long before the device sent it. */
const MAX_STALE_MS = 10_000
/** By how much the clock of a device may be slower than ours; those of working devices differ by less than a tenth. */
const MAX_DRIFT = 0.001
/** Reports arrive with a delay of up to this long. */
const MAX_DELAY_MS = 60_000

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
 * boot. So does one that is too short for the service time from then to the start of the session: service time neither
 * jumps with the wall clock nor counts outages of the service, so it can only be too short. The time at which the report
 * arrives proves nothing, because a report may be late; a boot ends the session, and the uptime was read during it. Any
 * other uptime continues the former one. A device of several parts has booted only if none of them has been up since the
 * last report.
 */
export function findNewBoot(known: KnownBoot, claims: BootClaims, time: ReportTime): ProvenBoot | null {
  const { uptimeS, isOfParts = false, boot } = claims
  const reported = boot === null ? null : checkReportedBoot(known, boot)
  if (reported !== null || uptimeS === null) return reported
  const at = latestBootOf(known, { uptimeS, isOfParts }, time)
  const wentBack = known.uptimeS !== null && uptimeS < known.uptimeS
  const continues = isOfParts && at.getTime() + RESOLUTION_MS < lastKnownMsOf(known)
  const isShort = uptimeS * 1000 + RESOLUTION_MS < leastUptimeMs(known, claims)
  return (wentBack && !continues) || isShort ? { at, cause: null } : null
}

/**
 * Returns the least uptime that a device can report if it has not booted since its last report. It has been up for its
 * former uptime and the time since, except where the longest part may have left, or the uptime may have been read before
 * the session was recorded: then only for the time since.
 */
function leastUptimeMs(
  { bootKnownMs, connectedMs, uptimeS }: KnownBoot,
  { isOfParts = false, isOfHello = false }: BootClaims,
): number {
  if (bootKnownMs === null || connectedMs === null) return 0
  const sinceMs = (connectedMs - bootKnownMs) * (1 - MAX_DRIFT)
  if (isOfParts || isOfHello || uptimeS === null) return sinceMs
  return Math.max(sinceMs, uptimeS * 1000 + sinceMs - MAX_STALE_MS)
}

interface Uptime {
  readonly uptimeS: number
  readonly isOfParts: boolean
}

/** Returns the latest possible time of the boot: a device has booted before it connected, however late its report is. */
function latestBootOf(
  { connectedAt }: Pick<KnownBoot, 'connectedAt'>,
  { uptimeS, isOfParts }: Uptime,
  { at }: ReportTime,
): Date {
  const byUptime = new Date(at.getTime() - uptimeS * 1000)
  // The part that has been up for the longest may have booted since.
  return !isOfParts && connectedAt !== null && isDelayOf(byUptime, connectedAt) ? connectedAt : byUptime
}

/** True if the delay of a report explains why `time` is later than `before`; otherwise our clock has been set. */
function isDelayOf(time: Date, before: Date): boolean {
  const laterMs = time.getTime() - before.getTime()
  return laterMs > 0 && laterMs <= MAX_DELAY_MS
}

/**
 * Returns when the device booted, after a report of its uptime that proves no other boot. Each report gives a time that
 * is too late by the delay of the report, so the earliest time counts.
 */
export function decideBootedAt(
  known: Pick<KnownBoot, 'connectedAt' | 'bootedAt'>,
  uptime: Uptime,
  time: ReportTime,
): Date {
  const latest = latestBootOf(known, uptime, time)
  const { bootedAt } = known
  return bootedAt !== null && !uptime.isOfParts && isDelayOf(latest, bootedAt) ? bootedAt : latest
}

/** Returns when the device last read an uptime that it reported, by the wall clock. */
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
