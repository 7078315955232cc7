import type { DeviceType } from '../../events/device-type.ts'
import type { UpgradePlan } from '../../rollout/rollout.ts'
import type { NewSiteUpgrade, NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import { addMs } from '../../platform/clock.ts'
import { PREVIEW_MS, type PreviewPhase, type UpgradePreview } from './preview.ts'

/** A device as its duration depends on it. */
interface TimedDevice {
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

export interface PreviewFacts {
  /** All those that are planned. */
  readonly devices: readonly TimedDevice[]
  /** Cumulative, by phase, where the request names them. */
  readonly percents: readonly number[] | null
}

/** Describes an upgrade that is not started. */
export function planPreview(upgrade: NewUpgrade, { devices, percents }: PreviewFacts): UpgradePreview {
  const { org, sites, targets } = upgrade
  const phases = planPreviewPhases(upgrade, percents)
  const leftOut = sites.flatMap(({ notes }) => notes.flatMap(({ mac, reason }) => (mac ? [{ mac, reason }] : [])))
  const current = targets.flatMap(({ mac, state, targetVersion }) =>
    state === 'skipped' ? [{ mac, reason: `runs ${targetVersion} already` }] : [],
  )
  const siteNotes = sites.flatMap(({ siteId, notes }) =>
    notes.flatMap(({ mac, reason }) => (mac ? [] : [{ siteId, reason }])),
  )
  return {
    planId: org.id,
    expiresAt: addMs(org.createdAt, PREVIEW_MS),
    total: org.planned,
    phases,
    skipped: [...current, ...leftOut],
    stopsAfterFailures: limitOf(org.maxFailurePercentage, org.planned),
    endsAbout: estimateEnd(upgrade, devices),
    notes: [...org.notes.map(({ reason }) => ({ siteId: null, reason })), ...siteNotes],
  }
}

/** The smallest number of failures that exceeds the percentage; null: not even all do. */
function limitOf(percent: number | null, total: number): number | null {
  if (percent === null || total === 0) return null
  const limit = Math.floor((percent * total) / 100) + 1
  return limit > total ? null : limit
}

function planPreviewPhases({ org, sites, targets }: NewUpgrade, percents: PreviewFacts['percents']): PreviewPhase[] {
  const bySite = new Map(sites.map((site) => [site.id, site]))
  const byPhase = Map.groupBy(
    targets.filter(({ state }) => state === 'planned'),
    ({ phase }) => phase,
  )
  const count = sites.reduce((most, { plan }) => Math.max(most, plan.phases), 0)
  let done = 0
  return Array.from({ length: count }, (_, index) => {
    const members = byPhase.get(index + 1) ?? []
    done += members.length
    return {
      percent: percents?.[index] ?? (org.planned === 0 ? 0 : Math.floor((100 * done) / org.planned)),
      total: members.length,
      stopsAfterFailures: phaseLimitOf(org.phasePlan?.gates ?? sites[0]?.plan.gates ?? null, index),
      sites: [...Map.groupBy(members, ({ upgradeId }) => upgradeId)].flatMap(([upgradeId, some]) => {
        const site = bySite.get(upgradeId)
        if (site === undefined) return []
        const macs = some.toSorted((a, b) => a.ordinal - b.ordinal).map(({ mac }) => mac)
        return [{ siteId: site.siteId, startAt: site.startAt, macs }]
      }),
    }
  })
}

function phaseLimitOf(gates: UpgradePlan['gates'], index: number): number | null {
  const limit = gates?.[index]?.max_failures ?? null
  return limit === null ? null : limit + 1
}

/**
 * Estimates the end: the devices of a phase are upgraded side by side, and the next phase follows, at each site by
 * itself or at all of them together.
 */
function estimateEnd({ org, sites, targets }: NewUpgrade, devices: readonly TimedDevice[]): Date | null {
  const planned = targets.filter(({ state }) => state === 'planned')
  if (planned.length === 0) return null
  const durations = new Map(devices.map((device) => [device.mac, durationOf(device)]))
  const slowest = (some: readonly NewTarget[]): number =>
    some.reduce((most, { mac }) => Math.max(most, durations.get(mac) ?? 0), 0)
  const ends = new Map(sites.map((site) => [site.id, startOf(site)]))
  const byPhase = [...Map.groupBy(planned, ({ phase }) => phase)].toSorted(([a], [b]) => a - b)
  let gateMs = 0
  for (const [, members] of byPhase) {
    let endMs = gateMs
    for (const [upgradeId, some] of Map.groupBy(members, (target) => target.upgradeId)) {
      const opensMs = Math.max(ends.get(upgradeId) ?? 0, gateMs)
      ends.set(upgradeId, opensMs + slowest(some))
      endMs = Math.max(endMs, opensMs + slowest(some))
    }
    if (org.phasePlan !== null) gateMs = endMs
  }
  const busy = new Set(planned.map(({ upgradeId }) => upgradeId))
  return new Date(Math.max(...[...busy].map((upgradeId) => ends.get(upgradeId) ?? 0)))
}

function startOf({ startAt, rebootAt }: NewSiteUpgrade): number {
  return Math.max(startAt.getTime(), rebootAt.getTime())
}

function durationOf({ type, memberVersions }: TimedDevice): number {
  return usualMs[memberVersions.length > 1 ? 'virtual_chassis' : type]
}
