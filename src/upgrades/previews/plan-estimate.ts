import { greatestOf } from '../../platform/extremes.ts'
import type { CommandKind } from '../../devices/tables.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { findOpening } from '../../orgs/windows/windows.ts'
import { type Steps, visitInSteps } from '../../platform/queues/next-turn.ts'
import { canStage } from '../../rollout/targets/steps/decide-order.ts'
import { rebootTimeoutMs } from '../../rollout/targets/steps/decide-window.ts'
import { instantMsBefore, waitMsOf } from '../../rollout/gates/decide-wait.ts'
import { type OrgPhasePlan, defaultRolloutOptions } from '../../rollout/rollout.ts'
import type { NewSiteUpgrade, NewTarget, NewUpgrade } from '../../rollout/store-create.ts'

/** A device as its duration depends on it. */
export interface TimedDevice {
  readonly mac: string
  readonly type: DeviceType
  readonly memberVersions: readonly string[]
  /** The commands that its driver supports. */
  readonly commands: readonly CommandKind[]
}

const MINUTE_MS = 60_000

interface Durations {
  readonly downloadMs: number
  /** The installation, the reboot and the soak together. */
  readonly restartMs: number
}

/** The approximate durations of healthy devices. */
const usual: Readonly<Record<DeviceType | 'virtual_chassis', Durations>> = {
  ap: { downloadMs: 3 * MINUTE_MS, restartMs: 5 * MINUTE_MS },
  switch: { downloadMs: 5 * MINUTE_MS, restartMs: 15 * MINUTE_MS },
  gateway: { downloadMs: 5 * MINUTE_MS, restartMs: 15 * MINUTE_MS },
  virtual_chassis: { downloadMs: 10 * MINUTE_MS, restartMs: 20 * MINUTE_MS },
}

/** Returns when the first device of a phase begins at a site; null: none does. */
type Begins = (upgradeId: string, phase: number) => Date | null

export interface Estimate {
  /** Null: there is nothing to do. */
  readonly endsAbout: Date | null
  /** By the id of the site upgrade and the number of the phase. */
  readonly beginsAbout: Begins
  /** The same for the phases of the downloads. */
  readonly downloadsBeginAbout: Begins
}

/** A target with the facts that determine its duration. */
interface Timed {
  readonly target: NewTarget
  readonly device: TimedDevice
  readonly site: NewSiteUpgrade
}

/** The work of a device in a phase. */
type Part = 'download' | 'restart' | 'both'

/**
 * Estimates when phases begin and end: the next phase follows the end of one, at each site by itself or at all of them
 * together. In a phase the devices of a site are upgraded side by side, or in the order of their ranks. Each waits for a
 * maintenance window that is long enough for it. The phases of the downloads come first where there are any, and a phase
 * of the reboots waits for the images of its devices.
 */
export function* planEstimateInSteps(
  { org, sites, targets }: NewUpgrade,
  devices: readonly TimedDevice[],
): Steps<Estimate> {
  const byMac = new Map<string, TimedDevice>()
  yield* visitInSteps(devices, (device) => byMac.set(device.mac, device))
  const bySite = new Map(sites.map((site) => [site.id, site]))
  const planned: Timed[] = []
  yield* visitInSteps(targets, (target) => {
    const [device, site] = [byMac.get(target.mac), bySite.get(target.upgradeId)]
    if (target.state === 'planned' && device !== undefined && site !== undefined) planned.push({ target, device, site })
  })
  const loading = planned.filter(({ target }) => target.downloadPhase !== null)
  yield
  const downloads = yield* estimatePhasesInSteps(loading, {
    phaseOf: ({ downloadPhase }) => downloadPhase ?? 0,
    partOf: ({ device }) => (canStage(device) ? 'download' : 'both'),
    startOf: ({ site }) => site.startAt.getTime(),
    whole: org.downloadPlan,
  })
  const reboots = yield* estimatePhasesInSteps(planned, {
    phaseOf: ({ phase }) => phase,
    partOf: ({ target, device }) => {
      if (target.downloadPhase === null) return 'both'
      // A device with one step has done both by then.
      return canStage(device) ? 'restart' : null
    },
    startOf({ site, target }) {
      const haveImagesMs = target.downloadPhase === null ? 0 : downloads.endOf(target)
      return Math.max(site.startAt.getTime(), site.rebootAt.getTime(), haveImagesMs)
    },
    whole: org.phasePlan,
  })
  const lastMs = Math.max(downloads.lastMs, reboots.lastMs)
  return {
    endsAbout: planned.length === 0 ? null : new Date(lastMs),
    beginsAbout: reboots.beginsAbout,
    downloadsBeginAbout: downloads.beginsAbout,
  }
}

/** The phases of the reboots, or those of the downloads. */
interface PhaseKind {
  readonly phaseOf: (target: NewTarget) => number
  /** Null: nothing. */
  readonly partOf: (timed: Timed) => Part | null
  /** The device does nothing before it. */
  readonly startOf: (timed: Timed) => number
  /** The phases of the whole upgrade, which open at all sites together. Null: each site has its own. */
  readonly whole: OrgPhasePlan | null
}

interface EstimatedPhases {
  readonly beginsAbout: Begins
  /** Returns when the phase of the target ends at its site. */
  readonly endOf: (target: NewTarget) => number
  readonly lastMs: number
}

function* estimatePhasesInSteps(
  planned: readonly Timed[],
  { phaseOf, partOf, startOf, whole }: PhaseKind,
): Steps<EstimatedPhases> {
  const begins = new Map<string, number>()
  const phaseEnds = new Map<string, number>()
  const siteEnds = new Map<string, number>()
  const keyOf = (upgradeId: string, phase: number): string => `${upgradeId} ${phase}`
  const byPhase = [...Map.groupBy(planned, ({ target }) => phaseOf(target))].toSorted(([a], [b]) => a - b)
  yield
  let endedMs = 0
  for (const [phase, members] of byPhase) {
    const gateMs = Math.max(endedMs, instantMsBefore(phase, whole?.gates ?? null))
    let endMs = gateMs
    for (const [upgradeId, some] of Map.groupBy(members, ({ target }) => target.upgradeId)) {
      const opensMs = Math.max(siteEnds.get(upgradeId) ?? 0, gateMs, greatestOf(some.map(startOf)))
      const span = spanOf(some, opensMs, partOf)
      begins.set(keyOf(upgradeId, phase), span.beginMs)
      phaseEnds.set(keyOf(upgradeId, phase), span.endMs)
      siteEnds.set(upgradeId, span.endMs)
      endMs = Math.max(endMs, span.endMs)
      yield
    }
    if (whole !== null) endedMs = endMs + waitMsOf(whole.gates?.[phase - 1] ?? null)
  }
  const beginsAbout: Begins = (upgradeId, phase) => {
    const beginMs = begins.get(keyOf(upgradeId, phase))
    return beginMs === undefined ? null : new Date(beginMs)
  }
  const endOf = (target: NewTarget): number => phaseEnds.get(keyOf(target.upgradeId, phaseOf(target))) ?? 0
  return { beginsAbout, endOf, lastMs: Math.max(0, greatestOf(siteEnds.values())) }
}

interface Span {
  readonly beginMs: number
  readonly endMs: number
}

/** The devices of a phase at one site, rank by rank. Downloads without restarts have no order. */
function spanOf(members: readonly Timed[], opensMs: number, partOf: PhaseKind['partOf']): Span {
  const active = members.flatMap((timed) => {
    const part = partOf(timed)
    return part === null ? [] : [{ ...timed, part }]
  })
  const levels = [
    ...Map.groupBy(active, ({ target, part }) => (part === 'download' ? 0 : (target.rank ?? 0))),
  ].toSorted(([a], [b]) => a - b)
  let [beginMs, endMs] = [Infinity, opensMs]
  for (const [, level] of levels) {
    const span = levelSpan(level, endMs)
    beginMs = Math.min(beginMs, span.beginMs)
    endMs = span.endMs
  }
  return { beginMs: levels.length === 0 ? opensMs : beginMs, endMs }
}

function levelSpan(level: readonly (Timed & { readonly part: Part })[], opensMs: number): Span {
  const classes = Map.groupBy(level, ({ device, target, part }) => `${classOf(device)} ${part} ${hopsOf(target)}`)
  const spans = [...classes.values()].flatMap(([first]) => {
    if (first === undefined) return []
    const beginMs = beginOf(first, opensMs)
    const { downloadMs, restartMs } = usual[classOf(first.device)]
    let endMs = beginMs + (first.part === 'restart' ? 0 : downloadMs) + (first.part === 'download' ? 0 : restartMs)
    const later = first.part === 'download' ? 0 : hopsOf(first.target) - 1
    for (let hop = 0; hop < later; hop += 1) endMs = beginOf(first, endMs) + downloadMs + restartMs
    return [{ beginMs, endMs }]
  })
  const endMs = Math.max(...spans.map((span) => span.endMs))
  return { beginMs: Math.min(...spans.map((span) => span.beginMs)), endMs: endMs + waitForTurns(level) }
}

/** The number of upgrades of the device. */
function hopsOf({ path }: NewTarget): number {
  return path?.length ?? 1
}

/** Returns how long the last devices of a level wait because the site limits concurrent downloads. */
function waitForTurns(level: readonly (Timed & { readonly part: Part })[]): number {
  const loading = level.filter(({ part }) => part !== 'restart')
  const atOnce = loading[0]?.site.plan.max_downloads
  if (atOnce === undefined) return 0
  const turns = Math.ceil(loading.length / atOnce) - 1
  return turns * loading.reduce((most, { device }) => Math.max(most, usual[classOf(device)].downloadMs), 0)
}

function beginOf({ device, site, part }: Timed & { readonly part: Part }, opensMs: number): number {
  const { windows, timezone, only } = site.plan
  if (windows === undefined) return opensMs
  const members = device.memberVersions.length
  const isDownload = part === 'download' || only === 'stage'
  const needMs = isDownload ? 0 : rebootTimeoutMs({ type: device.type, members }, defaultRolloutOptions)
  return findOpening(windows, timezone, { fromMs: opensMs, needMs }) ?? opensMs
}

function classOf({ type, memberVersions }: TimedDevice): keyof typeof usual {
  return memberVersions.length > 1 ? 'virtual_chassis' : type
}
