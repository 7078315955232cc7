import type { DeviceType } from '../../events/device-type.ts'
import { findOpening } from '../../orgs/windows/windows.ts'
import { rebootTimeoutMs } from '../../rollout/decide-window.ts'
import { defaultRolloutOptions } from '../../rollout/rollout.ts'
import type { NewSiteUpgrade, NewTarget, NewUpgrade } from '../../rollout/store-create.ts'

/** A device as its duration depends on it. */
export interface TimedDevice {
  readonly mac: string
  readonly type: DeviceType
  readonly memberVersions: readonly string[]
}

const MINUTE_MS = 60_000

/** What the download, the installation, the reboot and the soak of a healthy device take together, about. */
const usualMs: Readonly<Record<DeviceType | 'virtual_chassis', number>> = {
  ap: 8 * MINUTE_MS,
  switch: 20 * MINUTE_MS,
  gateway: 20 * MINUTE_MS,
  virtual_chassis: 30 * MINUTE_MS,
}

export interface Estimate {
  /** Null: there is nothing to do. */
  readonly endsAbout: Date | null
  /** When the first device of a phase begins, by the id of the site upgrade and the number of the phase. */
  readonly beginsAbout: (upgradeId: string, phase: number) => Date | null
}

/**
 * Estimates when phases begin and end: the devices of a phase are upgraded side by side, and the next phase follows, at
 * each site by itself or at all of them together. Each waits for a maintenance window that is long enough for it.
 */
export function planEstimate({ org, sites, targets }: NewUpgrade, devices: readonly TimedDevice[]): Estimate {
  const planned = targets.filter(({ state }) => state === 'planned')
  const timed = new Map(devices.map((device) => [device.mac, device]))
  const ends = new Map(sites.map((site) => [site.id, startOf(site)]))
  const bySite = new Map(sites.map((site) => [site.id, site]))
  const begins = new Map<string, number>()
  const byPhase = [...Map.groupBy(planned, ({ phase }) => phase)].toSorted(([a], [b]) => a - b)
  let gateMs = 0
  for (const [phase, members] of byPhase) {
    let endMs = gateMs
    for (const [upgradeId, some] of Map.groupBy(members, (target) => target.upgradeId)) {
      const opensMs = Math.max(ends.get(upgradeId) ?? 0, gateMs)
      const span = spanOf(some, { opensMs, site: bySite.get(upgradeId), timed })
      begins.set(`${upgradeId} ${phase}`, span.beginMs)
      ends.set(upgradeId, span.endMs)
      endMs = Math.max(endMs, span.endMs)
    }
    if (org.phasePlan !== null) gateMs = endMs
  }
  const busy = new Set(planned.map(({ upgradeId }) => upgradeId))
  const lastMs = Math.max(...[...busy].map((upgradeId) => ends.get(upgradeId) ?? 0))
  return {
    endsAbout: busy.size === 0 ? null : new Date(lastMs),
    beginsAbout(upgradeId, phase) {
      const beginMs = begins.get(`${upgradeId} ${phase}`)
      return beginMs === undefined ? null : new Date(beginMs)
    },
  }
}

interface Opening {
  readonly opensMs: number
  readonly site: NewSiteUpgrade | undefined
  readonly timed: ReadonlyMap<string, TimedDevice>
}

function spanOf(
  targets: readonly NewTarget[],
  { opensMs, site, timed }: Opening,
): { readonly beginMs: number; readonly endMs: number } {
  const members = targets.flatMap(({ mac }) => timed.get(mac) ?? [])
  const classes = Map.groupBy(members, ({ type, memberVersions }) => `${type} ${memberVersions.length > 1}`)
  const spans = [...classes.values()].flatMap(([device]) => {
    if (device === undefined) return []
    const beginMs = beginOf(device, { opensMs, site })
    return [{ beginMs, endMs: beginMs + durationOf(device) }]
  })
  if (spans.length === 0) return { beginMs: opensMs, endMs: opensMs }
  return {
    beginMs: Math.min(...spans.map((span) => span.beginMs)),
    endMs: Math.max(...spans.map((span) => span.endMs)),
  }
}

function beginOf({ type, memberVersions }: TimedDevice, { opensMs, site }: Omit<Opening, 'timed'>): number {
  const { windows, timezone = 'UTC', only } = site?.plan ?? {}
  if (windows === undefined) return opensMs
  const members = memberVersions.length
  const needMs = only === 'stage' ? 0 : rebootTimeoutMs({ type, members }, defaultRolloutOptions)
  return findOpening(windows, timezone, { fromMs: opensMs, needMs }) ?? opensMs
}

function startOf({ startAt, rebootAt }: NewSiteUpgrade): number {
  return Math.max(startAt.getTime(), rebootAt.getTime())
}

function durationOf({ type, memberVersions }: TimedDevice): number {
  return usualMs[memberVersions.length > 1 ? 'virtual_chassis' : type]
}
