import { findStartWait, hasTime } from '../../rollout/gates/decide-wait.ts'
import type { StartGate, UpgradeHop, UpgradeNote, UpgradePlan } from '../../rollout/rollout.ts'
import type { NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import { addMs } from '../../platform/time/clock.ts'
import { type Steps, visitInSteps } from '../../platform/queues/next-turn.ts'
import { noteEnd } from '../planning/plan-end.ts'
import type { PhasingPlan } from '../planning/plan-downloads.ts'
import { type Estimate, type TimedDevice, planEstimateInSteps } from './plan-estimate.ts'
import { type NamedDevice, PREVIEW_MS, type PreviewNote, type PreviewPhase, type UpgradePreview } from './preview.ts'

export interface PreviewFacts {
  /** All of the sites. */
  readonly devices: readonly (TimedDevice & NamedDevice)[]
  /** The phasing of the reboots, and of the downloads if they have separate phases. */
  readonly phasing: Pick<PhasingPlan, 'phasing' | 'downloads'>
  /** Null: it begins without an approval. */
  readonly startGate: StartGate | null
  /** Null: it does not end by itself. */
  readonly endsAt: Date | null
}

/** Describes an upgrade that is not started. */
export function* planPreviewInSteps(
  upgrade: NewUpgrade,
  { devices, phasing, startGate, endsAt }: PreviewFacts,
): Steps<UpgradePreview> {
  const { org, sites } = upgrade
  const targets: NewTarget[] = []
  yield* visitInSteps(upgrade.targets, (target) => targets.push(target))
  const estimate = yield* planEstimateInSteps({ org, sites, targets }, devices)
  yield
  const phases = planPreviewPhases(sites, targets, {
    phaseOf: ({ phase }) => phase,
    percents: phasing.phasing.percents,
    count: sites.reduce((most, { plan }) => Math.max(most, plan.phases), 0),
    gates: org.phasePlan?.gates ?? sites[0]?.plan.gates ?? null,
    beginsAbout: estimate.beginsAbout,
  })
  yield
  const downloads = planPreviewPhases(sites, targets, {
    phaseOf: ({ downloadPhase }) => downloadPhase,
    percents: phasing.downloads?.percents ?? null,
    count: sites.reduce((most, { plan }) => Math.max(most, plan.downloads?.phase_sizes.length ?? 0), 0),
    gates: org.downloadPlan?.gates ?? sites.find(({ plan }) => plan.downloads)?.plan.downloads?.gates ?? null,
    beginsAbout: estimate.downloadsBeginAbout,
  })
  yield
  const ways = targets.flatMap(({ mac, path }) => (path === null ? [] : [{ mac, versions: path.map(versionOf) }]))
  const current = targets.flatMap(({ mac, state, targetVersion }) =>
    state === 'skipped' ? [{ mac, reason: `runs ${targetVersion} already` }] : [],
  )
  const chosen = new Set(targets.map(({ mac }) => mac))
  const siteNotes = sites.flatMap(({ siteId, notes }) => notes.map((note) => ({ siteId, ...note })))
  const leftOut = siteNotes.flatMap(({ mac, reason }) => (mac && !chosen.has(mac) ? [{ mac, reason }] : []))
  const names = namesOf(devices, [...current, ...siteNotes])
  return {
    planId: org.id,
    expiresAt: addMs(org.createdAt, PREVIEW_MS),
    total: org.planned,
    phases,
    downloads,
    paths: [...Map.groupBy(ways, ({ versions }) => versions.join('\n')).values()].map((some) => {
      return { versions: some[0]?.versions ?? [], macs: some.map(({ mac }) => mac) }
    }),
    skipped: [...current, ...leftOut].map(({ mac, reason }) => ({ mac, name: names.get(mac) ?? null, reason })),
    stopsAfterFailures: limitOf(org.maxFailurePercentage, org.planned),
    endsAbout: estimate.endsAbout,
    notes: [
      ...noteStart(startGate).map(({ reason }) => ({ siteId: null, device: null, reason })),
      ...[...noteEnd(endsAt, estimate.endsAbout), ...org.notes].map(({ reason }) => ({
        siteId: null,
        device: null,
        reason,
      })),
      ...siteNotes.flatMap(({ siteId, mac, reason }): PreviewNote[] => {
        if (mac === undefined) return [{ siteId, device: null, reason }]
        return chosen.has(mac) ? [{ siteId, device: { mac, name: names.get(mac) ?? null }, reason }] : []
      }),
    ],
  }
}

/** Says that an upgrade waits before it begins. The estimated times don't contain the wait, which nobody knows. */
export function noteStart(gate: StartGate | null): UpgradeNote[] {
  const wait = findStartWait(gate && { gate, given: 0 })
  return wait === null ? [] : [{ reason: `The upgrade does not begin at once: ${wait.reason}` }]
}

/** Returns the names of those of `some` that are devices, by MAC; null for a device without one. */
function namesOf(
  devices: readonly NamedDevice[],
  some: readonly { readonly mac?: string }[],
): ReadonlyMap<string, string | null> {
  const wanted = new Set(some.map(({ mac }) => mac))
  return new Map(devices.flatMap(({ mac, name }) => (wanted.has(mac) ? [[mac, name] as const] : [])))
}

function versionOf({ version }: UpgradeHop): string {
  return version
}

/** The smallest number of failures that exceeds the percentage; null: not even all do. */
export function limitOf(percent: number | null, total: number): number | null {
  if (percent === null || total === 0) return null
  const limit = Math.floor((percent * total) / 100) + 1
  return limit > total ? null : limit
}

/** The phases of the reboots, or those of the downloads. */
interface PhaseKind extends Pick<Estimate, 'beginsAbout'> {
  readonly phaseOf: (target: NewTarget) => number | null
  /** Cumulative, by phase, where the request names them. */
  readonly percents: readonly number[] | null
  readonly count: number
  readonly gates: UpgradePlan['gates']
}

function planPreviewPhases(
  sites: NewUpgrade['sites'],
  targets: readonly NewTarget[],
  { phaseOf, percents, count, gates, beginsAbout }: PhaseKind,
): PreviewPhase[] {
  const bySite = new Map(sites.map((site) => [site.id, site]))
  const planned = targets.filter((target) => target.state === 'planned' && phaseOf(target) !== null)
  const byPhase = Map.groupBy(planned, phaseOf)
  const waits = hasTime(gates)
  let done = 0
  return Array.from({ length: count }, (_, index) => {
    const members = byPhase.get(index + 1) ?? []
    done += members.length
    return {
      percent: percents?.[index] ?? (planned.length === 0 ? 0 : Math.floor((100 * done) / planned.length)),
      total: members.length,
      stopsAfterFailures: phaseLimitOf(gates, index),
      sites: [...Map.groupBy(members, ({ upgradeId }) => upgradeId)].flatMap(([upgradeId, some]) => {
        const site = bySite.get(upgradeId)
        if (site === undefined) return []
        const macs = some
          .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || a.ordinal - b.ordinal)
          .map(({ mac }) => mac)
        const begins = site.plan.windows === undefined && !waits ? null : beginsAbout(upgradeId, index + 1)
        return [{ siteId: site.siteId, startAt: site.startAt, beginsAbout: begins, macs }]
      }),
    }
  })
}

export function phaseLimitOf(gates: UpgradePlan['gates'], index: number): number | null {
  const limit = gates?.[index]?.max_failures ?? null
  return limit === null ? null : limit + 1
}
