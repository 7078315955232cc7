import type { SiteUpgradeDecision, Now } from '../site-upgrade-now.ts'
import { lastGraceMs } from './limit-grace.ts'

/** Failures that an outage of the network can cause as well as a broken device. */
const reasonsOfAbsence: ReadonlySet<string | null> = new Set(['no_reconnect', 'unstable'])
/**
 * The network counts as the cause if at least this many witnesses lost their connections, or all of them if there
 * are fewer.
 */
const MIN_LOST = 3
/** The same, as a share of the witnesses. */
const MIN_SHARE = 0.3
/**
 * The service notices one outage device by device, as their time-outs pass, and at the target itself before the engine
 * sees it reboot.
 */
const NOTICED_WITHIN_MS = 120_000

/** A site upgrade that would give up absent devices in this round. Times are service time, here and below. */
export interface AbsenceCheck {
  readonly siteUpgradeId: string
  readonly siteId: string
  /**
   * Roughly since when it has waited for the first of these devices. Connections that were lost earlier do not count.
   */
  readonly absentSinceMs: number
  /** Devices that had returned before do not count either: an absent one would have returned since, too. */
  readonly returnedSinceMs: number
  /** The versions that these devices would report after the installation. */
  readonly versions: readonly string[]
}

/** Null: the round gives up no device for its absence, or none that may get more time. */
export function findAbsence(
  { id, siteId }: { readonly id: string; readonly siteId: string },
  { steps }: SiteUpgradeDecision,
  { nowMs, options }: Pick<Now, 'nowMs' | 'options'>,
): AbsenceCheck | null {
  const absent = steps
    .filter(({ to, reason }) => (to === 'failed' || to === 'rolling_back') && reasonsOfAbsence.has(reason))
    .map(({ target }) => target)
    .filter((target) => nowMs < lastGraceMs(target, options))
  if (absent.length === 0) return null
  return {
    siteUpgradeId: id,
    siteId,
    absentSinceMs: absent.reduce((first, { enteredMs }) => Math.min(first, enteredMs), Infinity) - NOTICED_WITHIN_MS,
    returnedSinceMs: nowMs - options.reconnectGraceMs,
    versions: [...new Set(absent.flatMap(({ targetVersion, reported }) => reported.concat(targetVersion)))],
  }
}

/** A connection that a witness has lost. */
export interface Outage {
  readonly lostMs: number
  /** Null: the device is still away. */
  readonly backMs: number | null
}

/**
 * Devices of a site that can't run the firmware in question, so that it can't be the reason for their lost
 * connections.
 */
export interface Witnesses {
  /** Null: devices without a site. */
  readonly siteId: string | null
  readonly connected: number
  readonly outages: readonly Outage[]
}

/**
 * Finds the site upgrades whose devices may be absent because of the network: enough witnesses at the site, or in the
 * whole organization, lost their connections too.
 * @returns Ids of site upgrades.
 */
export function findDisturbed(checks: readonly AbsenceCheck[], witnesses: readonly Witnesses[]): Set<string> {
  const bySite = new Map(witnesses.map((site) => [site.siteId, site]))
  const everywhere = {
    connected: witnesses.reduce((sum, { connected }) => sum + connected, 0),
    outages: witnesses.flatMap(({ outages }) => outages),
  }
  const disturbed = checks.filter((check) => {
    const site = bySite.get(check.siteId)
    return (site !== undefined && isDisturbed(site, check)) || isDisturbed(everywhere, check)
  })
  return new Set(disturbed.map(({ siteUpgradeId }) => siteUpgradeId))
}

function isDisturbed(
  { connected, outages }: Omit<Witnesses, 'siteId'>,
  { absentSinceMs, returnedSinceMs }: AbsenceCheck,
): boolean {
  const recent = outages.filter(({ lostMs }) => lostMs >= absentSinceMs)
  const lost = recent.filter(({ backMs }) => backMs === null || backMs >= returnedSinceMs).length
  const total = connected + recent.filter(({ backMs }) => backMs === null).length
  return lost > 0 && lost >= Math.min(MIN_LOST, total) && lost >= MIN_SHARE * total
}
