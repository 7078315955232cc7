import { isDeepStrictEqual } from 'node:util'
import type { NewUpgrade } from '../../mxedges/upgrades/store-create.ts'
import type { MxedgeStep, MxedgeUpgradePlan } from '../../mxedges/upgrades/upgrade.ts'
import { endOf } from '../../rollout/stops/decide-end.ts'
import { addMs } from '../../platform/time/clock.ts'
import { noteEnd } from '../planning/plan-end.ts'
import { limitOf, noteStart, phaseLimitOf } from '../previews/plan-preview.ts'
import { PREVIEW_MS } from '../previews/preview.ts'
import { planMxedgeEstimate } from './plan-estimate.ts'

/** The plan of an upgrade of edge appliances that was not started. */
export interface MxedgePreview {
  /** The id of the upgrade, if it is started. */
  readonly planId: string
  readonly expiresAt: Date
  readonly startAt: Date
  /** Appliances that would be upgraded. */
  readonly total: number
  readonly phases: readonly MxedgePreviewPhase[]
  readonly skipped: readonly { readonly mxedgeId: string; readonly reason: string }[]
  /** The number of failures that stop the upgrade; null: none, except those of `phases`. */
  readonly stopsAfterFailures: number | null
  /** An estimate, where every appliance is present and healthy; null: there is nothing to do. */
  readonly endsAbout: Date | null
  readonly notes: NewUpgrade['notes']
}

export interface MxedgePreviewPhase {
  /** Cumulative: as the request sets it, else the share of the appliances that have had their turn at its end. */
  readonly percent: number
  /** The number of failures in it that stop the upgrade; null: it has no limit. */
  readonly stopsAfterFailures: number | null
  /** An estimate: when its first appliance begins; null: it has none. */
  readonly beginsAbout: Date | null
  /** In the order of the plan. */
  readonly appliances: readonly { readonly id: string; readonly steps: readonly MxedgeStep[] }[]
}

/** Describes an upgrade that is not started. @param percents Cumulative, by phase, where the request names them. */
export function planMxedgePreview(
  upgrade: NewUpgrade,
  { percents, now }: { readonly percents: readonly number[] | null; readonly now: Date },
): MxedgePreview {
  const { id, plan, targets, startAt, notes } = upgrade
  const estimate = planMxedgeEstimate(upgrade)
  const byPhase = Map.groupBy(targets, ({ phase }) => phase)
  let done = 0
  const phases = plan.phase_sizes.map((size, index): MxedgePreviewPhase => {
    done += size
    return {
      percent: percents?.[index] ?? (plan.planned === 0 ? 0 : Math.floor((100 * done) / plan.planned)),
      stopsAfterFailures: phaseLimitOf(plan.gates, index),
      beginsAbout: estimate.beginsAbout[index] ?? null,
      appliances: (byPhase.get(index + 1) ?? []).map(({ mxedgeId, steps }) => ({ id: mxedgeId, steps })),
    }
  })
  const skipped = targets.flatMap(({ mxedgeId, reason }) => (reason === null ? [] : [{ mxedgeId, reason }]))
  const skippedIds: ReadonlySet<string | undefined> = new Set(skipped.map(({ mxedgeId }) => mxedgeId))
  return {
    planId: id,
    expiresAt: addMs(now, PREVIEW_MS),
    startAt,
    total: plan.planned,
    phases,
    skipped,
    stopsAfterFailures: limitOf(plan.max_failure_percentage, plan.planned),
    endsAbout: estimate.endsAbout,
    // Those of skipped appliances would say the same as `skipped`.
    notes: [
      ...noteStart(plan.start_gate ?? null),
      ...noteEnd(endOf(plan), estimate.endsAbout, 'edge appliances'),
      ...notes.filter(({ mxedge_id: id }) => !skippedIds.has(id)),
    ],
  }
}

/** A plan in its stored form, with the facts that it relied on. */
export interface StoredMxedgePlan {
  readonly plan: MxedgeUpgradePlan
  /** ISO 8601. */
  readonly start_at: string
  readonly targets: readonly (Pick<NewUpgrade['targets'][number], 'phase' | 'wave' | 'ordinal' | 'steps' | 'reason'> & {
    readonly mxedge_id: string
    readonly registration_epoch: number
  })[]
}

export function encodeMxedgePlan({ plan, startAt, targets }: NewUpgrade): StoredMxedgePlan {
  return {
    plan,
    start_at: startAt.toISOString(),
    targets: targets.map(({ mxedgeId, registrationEpoch, phase, wave, ordinal, steps, reason }) => {
      return { mxedge_id: mxedgeId, registration_epoch: registrationEpoch, phase, wave, ordinal, steps, reason }
    }),
  }
}

/** A fact that is no longer as the plan relied on it. */
export interface MxedgePlanDifference {
  /** Null: it is about the whole upgrade. */
  readonly mxedgeId: string | null
  /** Continues "the appliance" or "the upgrade". */
  readonly reason: string
}

/**
 * Finds the facts that have changed since a plan was made, as far as it relied on them: which appliances are upgraded,
 * from and to which versions, and when. The connection of an appliance is not included: it decides the order of a plan,
 * which the plan retains. Nor is one that is skipped, and was skipped or not selected.
 * @param fresh The same upgrade, planned again.
 */
export function findMxedgeDifferences(
  stored: StoredMxedgePlan,
  fresh: NewUpgrade,
  now: Date,
): readonly MxedgePlanDifference[] {
  const before = new Map(stored.targets.map((target) => [target.mxedge_id, target]))
  const present = new Set(fresh.targets.map(({ mxedgeId }) => mxedgeId))
  const gone = [...before].flatMap(([id, { reason }]) => (present.has(id) || reason !== null ? [] : [id]))
  return [
    ...compareStarts(new Date(stored.start_at), fresh.startAt, now),
    ...compareWindows(windowsOfUsed(stored.plan.windows, fresh), windowsOfUsed(fresh.plan.windows, fresh)),
    ...fresh.targets.flatMap((target) => {
      const reason = compareTargets(before.get(target.mxedgeId), target)
      return reason === null ? [] : [{ mxedgeId: target.mxedgeId, reason }]
    }),
    ...gone.map((mxedgeId) => ({ mxedgeId, reason: 'is not selected any more' })),
  ]
}

/** A start that has come since means now, as it did for the plan. */
function compareStarts(before: Date, startAt: Date, now: Date): MxedgePlanDifference[] {
  const isSame = before.getTime() === startAt.getTime() || (before <= now && startAt <= now)
  const reason = `would start at ${startAt.toISOString()}, not at ${before.toISOString()}`
  return isSame ? [] : [{ mxedgeId: null, reason }]
}

/** Returns the maintenance windows of the places at which an appliance is upgraded. */
function windowsOfUsed(
  places: MxedgeUpgradePlan['windows'],
  { targets }: Pick<NewUpgrade, 'targets'>,
): MxedgeUpgradePlan['windows'] {
  const used = new Set(targets.flatMap(({ reason, plannedSiteId }) => (reason === null ? [plannedSiteId] : [])))
  return places?.filter((place) => used.has(place.site_id)) ?? []
}

function compareWindows(
  before: MxedgeUpgradePlan['windows'],
  now: MxedgeUpgradePlan['windows'],
): MxedgePlanDifference[] {
  if (isDeepStrictEqual(before, now)) return []
  return [{ mxedgeId: null, reason: 'would begin in other maintenance windows' }]
}

function compareTargets(
  before: StoredMxedgePlan['targets'][number] | undefined,
  { steps, reason, registrationEpoch }: NewUpgrade['targets'][number],
): string | null {
  // Nothing is done with one that is skipped, whatever the plan knew of it.
  if (reason !== null && (before === undefined || before.reason !== null)) return null
  if (before === undefined) return 'is not in the plan'
  if (before.registration_epoch !== registrationEpoch) return 'is another appliance that has registered in its place'
  if (before.reason !== reason) return `would be ${describeFate(reason)}, not ${describeFate(before.reason)}`
  return isDeepStrictEqual(before.steps, steps)
    ? null
    : `would get ${describeSteps(steps)}, not ${describeSteps(before.steps)}`
}

function describeFate(reason: string | null): string {
  return reason === null ? 'upgraded' : `skipped because ${reason}`
}

function describeSteps(steps: readonly MxedgeStep[]): string {
  return steps
    .map((step) => `${'distro' in step ? 'the distribution' : step.service} ${step.to} after ${step.from}`)
    .join(', ')
}

/** Returns the upgrade of a stored plan. @param fresh The same upgrade, planned again, without differences. */
export function decodeMxedgePlan({ plan, targets }: StoredMxedgePlan, fresh: NewUpgrade): NewUpgrade {
  const places = new Map(targets.map(({ mxedge_id: id, phase, wave, ordinal }) => [id, { phase, wave, ordinal }]))
  let last = targets.reduce((most, { ordinal }) => Math.max(most, ordinal), 0)
  // One that the plan does not have is skipped, and comes after all others.
  const placeOf = ({ mxedgeId }: NewUpgrade['targets'][number]) => places.get(mxedgeId) ?? { ordinal: (last += 1) }
  return { ...fresh, plan, targets: fresh.targets.map((target) => Object.assign({}, target, placeOf(target))) }
}
