import { type Json, type JsonObject, objectOf, rowsOf } from '../api.ts'
import { textOf } from '../output.ts'
import type { FoundUpgrade, UpgradeKind } from './upgrade-kinds.ts'

/** Statuses in which nothing happens to the devices of a site, or of an upgrade, any more. */
const ENDED = new Set(['cancelled', 'completed', 'failed'])

export function hasEnded({ status }: JsonObject): boolean {
  return ENDED.has(textOf(status))
}

/** States of devices and routers, in the order in which they pass them. */
const STATES = [
  'scheduled',
  'download_requested',
  'downloading',
  'downloaded',
  'reboot_in_progress',
  'rebooted',
  'upgraded',
  'failed',
  'skipped',
  'cancelled',
] as const

/** An upgrade in the stream; its channel is that of the organization or of a site. */
type Followed = Pick<FoundUpgrade, 'kind' | 'id' | 'channel'>

/** How far an upgrade is. */
export interface Progress {
  readonly total: number
  /** By state, in the order in which a device passes them. */
  readonly counts: Readonly<Record<string, number>> &
    Readonly<Record<'upgraded' | 'failed' | 'skipped' | 'cancelled', number>>
  readonly hasEnded: boolean
  /** Why it waits; null while it proceeds. */
  readonly holdReason: string | null
}

/** Returns the progress of an upgrade by its record. */
export function progressOf(kind: UpgradeKind, upgrade: JsonObject): Progress {
  if (kind === 'mxedge') return applianceProgressOf(upgrade)
  const sites = sitesOf(upgrade)
  const ofSites = sites.map((site) => {
    const targets = objectOf(site['targets'])
    return {
      total: Number(targets['total'] ?? 0),
      count: resultsOf((state) => lengthOf(targets[state]), hasEnded(site)),
    }
  })
  return {
    total: ofSites.reduce((sum, { total }) => sum + total, 0),
    counts: countsOf((state) => ofSites.reduce((sum, { count }) => sum + count(state), 0)),
    hasEnded: sites.every(hasEnded),
    holdReason: sites.map(holdReasonOf).find((reason) => reason !== null) ?? null,
  }
}

/** Returns why an upgrade was stopped before its end; null if it was not. */
export function stopReasonOf(upgrade: JsonObject): string | null {
  // The sites of an upgrade mostly stop for the same reason.
  const stopped = [upgrade, ...sitesOf(upgrade)].find(({ stop_reason: reason }) => reason !== undefined)
  return stopped === undefined ? null : textOf(stopped['stop_reason'])
}

/** Returns the parts of an upgrade at its sites. The record of an upgrade of devices at one site is itself that part. */
export function sitesOf(upgrade: JsonObject): readonly JsonObject[] {
  const { upgrades } = upgrade
  return upgrades === undefined ? [upgrade] : rowsOf(upgrades).map(({ upgrade: ofSite }) => objectOf(ofSite))
}

function holdReasonOf(upgrade: JsonObject): string | null {
  const { reason } = objectOf(upgrade['held'])
  return reason === undefined || hasEnded(upgrade) ? null : textOf(reason)
}

/** Returns the progress by a message of the live stream; null if it is about another upgrade, or about one of several sites. */
export function liveProgressOf({ kind, id, channel }: Followed, data: JsonObject): Progress | null {
  if (kind === 'mxedge') return data['id'] === id ? applianceProgressOf(data) : null
  const isOfSite = data['site_upgrade_id'] !== undefined
  // Messages about single sites have no counts of the whole.
  if (data['upgrade_id'] !== id || isOfSite !== channel.startsWith('/sites/')) return null
  const counts = objectOf(data['counts'])
  return {
    total: Number(counts['total'] ?? 0),
    counts: countsOf(resultsOf((state) => Number(counts[state] ?? 0), hasEnded(data))),
    hasEnded: hasEnded(data),
    holdReason: holdReasonOf(data),
  }
}

type Count = (state: string) => number

/** Devices that an ended upgrade was only to download to have the state `downloaded`: they count as upgraded, as in the list of upgrades. */
function resultsOf(count: Count, isOver: boolean): Count {
  if (!isOver) return count
  const results: Readonly<Record<string, number>> = { downloaded: 0, upgraded: count('upgraded') + count('downloaded') }
  return (state) => results[state] ?? count(state)
}

function lengthOf(list: Json | undefined): number {
  return Array.isArray(list) ? list.length : 0
}

function countsOf(count: Count): Progress['counts'] {
  return Object.fromEntries(STATES.map((state) => [state, count(state)])) as Progress['counts']
}

/** The record of an upgrade of appliances is also the message of the stream. */
function applianceProgressOf(upgrade: JsonObject): Progress {
  const counts = objectOf(upgrade['counts'])
  const count = (name: string): number => Number(counts[name] ?? 0)
  return {
    total: count('total'),
    counts: {
      scheduled: count('queued'),
      upgrading: count('upgrading'),
      upgraded: count('success'),
      failed: count('failed'),
      skipped: count('skipped'),
      cancelled: count('cancelled'),
    },
    hasEnded: hasEnded(upgrade),
    holdReason: holdReasonOf(upgrade) ?? applianceOfflineReasonOf(upgrade),
  }
}

function applianceOfflineReasonOf(upgrade: JsonObject): string | null {
  const { queued, upgrading } = objectOf(upgrade['counts'])
  if (upgrading !== 0 || hasEnded(upgrade)) return null
  return offlineReasonOf(upgrade, Number(queued), 'edge appliance')
}

/**
 * Returns for how many devices or appliances an upgrade waits that are offline; null while there is anything else to do.
 * @param shown Its record or its report. @param waiting How many have not begun; none is under way.
 */
export function offlineReasonOf(shown: JsonObject, waiting: number, unit: string): string | null {
  const offline = Number(shown['offline'] ?? 0)
  if (offline === 0 || offline !== waiting) return null
  return offline === 1 ? `1 ${unit} is offline` : `${offline} ${unit}s are offline`
}

/** Returns how many devices have not begun, if no other one is under way and nothing holds the upgrade; 0: there is more to do. */
export function countOnlyWaiting({ counts, hasEnded: isOver, holdReason }: Progress): number {
  const { scheduled = 0, ...others } = counts
  const ended = others.upgraded + others.failed + others.skipped + others.cancelled
  const known = Object.values(others).reduce((sum, count) => sum + count, 0)
  return isOver || holdReason !== null || known > ended ? 0 : scheduled
}
