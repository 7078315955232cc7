import type { Schemas } from '../api/client.ts'
import type { Share } from '../display/share-bar.tsx'
import { capital } from '../display/texts/capital.ts'
import { type Standing, isRunning } from './upgrade.ts'
import { keysOf } from '../display/keys-of.ts'
import { localText } from '../display/times/local-text.ts'

/** An upgrade of any kind, as a row of the list of all kinds. */
export type Overview = Schemas['UpgradeOverview']
export type UpgradeKind = Overview['kind']

/** The kinds of upgrades: their words, and the path of their operations, which is also their channel of the stream. */
export const kinds = {
  device: { text: 'Devices', unit: 'device', path: '/devices/upgrade' },
  ssr: { text: 'SSR routers', unit: 'router', path: '/ssr/upgrade' },
  mxedge: { text: 'Edge appliances', unit: 'appliance', path: '/mxedges/upgrade' },
} as const satisfies Record<UpgradeKind, { readonly text: string; readonly unit: string; readonly path: string }>

export const upgradeKinds: readonly UpgradeKind[] = keysOf(kinds)

/** The filter of the list, as in the address of the page. */
export interface ListSearch {
  readonly kind?: UpgradeKind
  /** Only those that wait. */
  readonly held?: true
}

export function parseListSearch(search: Readonly<Record<string, unknown>>): ListSearch {
  const kind = upgradeKinds.find((known) => known === search['kind'])
  return { ...(kind !== undefined && { kind }), ...(search['held'] === true && { held: true }) }
}

/** Returns the upgrades that wait, mostly for a person, and then the others. */
export function waitingFirst<Upgrade extends Pick<Overview, 'id'>>(
  waiting: readonly Upgrade[],
  latest: readonly Upgrade[],
): readonly Upgrade[] {
  const ids = new Set(waiting.map(({ id }) => id))
  return [...waiting, ...latest.filter(({ id }) => !ids.has(id))]
}

type Goal = Pick<Overview, 'target_version' | 'versions' | 'distro'>

/** Returns what an upgrade installs, such as "3.2.0" or "tunterm 2.0.0, mxagent latest". */
export function goalText({ target_version: version, versions = {}, distro }: Goal): string {
  if (version !== undefined) return version === '' ? 'versions by model' : version
  if (distro !== undefined) return distro === 'next' ? 'the next distribution' : `distribution ${distro}`
  const changed = Object.entries(versions).filter(([, wanted]) => wanted !== 'current')
  return changed.length === 0 ? 'present versions' : changed.map(([name, wanted]) => `${name} ${wanted}`).join(', ')
}

/** Returns the name of an upgrade, and what it installs. */
export function titleOf({ name, ...goal }: Goal & Pick<Overview, 'name'>): string {
  return name === undefined ? `To ${goalText(goal)}` : `${name}, to ${goalText(goal)}`
}

/** Returns the heading of the page of an upgrade. */
export function headingOf({ name }: Pick<Overview, 'name'>, goal: Goal): string {
  return name === undefined ? `Upgrade to ${goalText(goal)}` : titleOf({ ...goal, name })
}

/** Returns what determines the state of an upgrade. */
export function standingOf({
  status,
  held = null,
  stop_reason: stopReason = null,
}: {
  readonly status: Standing['status']
  readonly held?: Standing['hold']
  readonly stop_reason?: string | null
}): Standing {
  return { status, hold: held, stopReason }
}

/**
 * Returns why an upgrade waits, or was stopped; undefined if it proceeds, or has ended as planned.
 * @param zone That of its times. Default: the zone of the viewer.
 */
export function noteOf(
  { status, held, stop_reason: stopReason }: Pick<Overview, 'status' | 'held' | 'stop_reason'>,
  zone?: string,
) {
  const reason = stopReason ?? (isRunning(status) ? held?.reason : undefined)
  return reason === undefined ? undefined : capital(localText(reason, zone))
}

/** Returns the parts of an upgrade, in the order in which its bar shows them. */
export function sharesOf(counts: Omit<Overview['counts'], 'total'>): readonly Share[] {
  return [
    { name: 'upgraded', tone: 'good', count: counts.success },
    { name: 'under way', tone: 'busy', count: counts.upgrading },
    { name: 'failed', tone: 'bad', count: counts.failed },
    { name: 'cancelled', tone: 'warn', count: counts.cancelled },
    { name: 'skipped', tone: 'idle', count: counts.skipped },
    { name: 'waiting', tone: 'idle', count: counts.queued },
  ]
}
