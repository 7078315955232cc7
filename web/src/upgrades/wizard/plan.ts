import type { Schemas } from '../../api/client.ts'
import { macText } from '../../devices/device.ts'
import { targetText } from '../upgrade.ts'
import { stepText } from '../appliance-step.ts'

export type DevicePreview = Schemas['UpgradePreview']
export type AppliancePreview = Schemas['MxedgeUpgradePreview']
/** The names of appliances by their ids. */
type Names = ReadonlyMap<string, string>

/** The plan of an upgrade of any kind. */
export interface Plan {
  readonly id: string
  readonly total: number
  /** Those with devices or appliances. */
  readonly phases: readonly PlanPhase[]
  /** The numbers of those without, which the upgrade passes over. */
  readonly emptyPhases: readonly number[]
  /** Null: no number of failures stops the upgrade. */
  readonly stopsAfter: number | null
  /** Epoch seconds; null: there is nothing to do. */
  readonly endsAbout: number | null
  /** How many restart more than once, to pass over versions in between. */
  readonly passing: number
  /** How many download at the beginning of the upgrade, and not in the phase in which they restart. */
  readonly downloading: number
  readonly skipped: readonly PlanNote[]
  /** About some of those that are upgraded. */
  readonly noted: readonly PlanNote[]
  /** About sites or the whole plan. */
  readonly notes: readonly { readonly siteId: string | undefined; readonly reason: string }[]
}

interface PlanPhase {
  /** From 1. */
  readonly number: number
  readonly percent: number
  readonly total: number
  readonly stopsAfter: number | undefined
  /** Empty in the plan of an upgrade of appliances. */
  readonly sites: readonly PlanSite[]
  readonly appliances: readonly PlanAppliance[]
  /** When the first appliance begins, in epoch seconds. */
  readonly beginsAbout: number | undefined
}

/** Returns the sites of a plan; none for appliances. */
export function siteIdsOf({ phases }: Pick<Plan, 'phases'>): readonly string[] {
  return phases.flatMap(({ sites }) => sites.map(({ id }) => id))
}

interface PlanSite {
  readonly id: string
  readonly count: number
  /** Epoch seconds. */
  readonly begins: number
}

interface PlanAppliance {
  readonly id: string
  readonly name: string
  /** Such as "tunterm 1.0.0 → 2.0.0". */
  readonly steps: readonly string[]
}

/** What is upgraded or left out, and why. */
export interface PlanNote extends NamedMember {
  readonly reason: string
}

export interface NamedMember {
  readonly id: string
  readonly name: string
  /** The address of a device; appliances have none. */
  readonly address: string | undefined
}

/** Returns the plan of an upgrade of devices or routers. */
export function devicePlan(preview: DevicePreview): Plan {
  const { plan_id: id, total, phases, downloads, paths, skipped, notes } = preview
  return {
    ...{ id, total, stopsAfter: preview.stops_after_failures, endsAbout: preview.ends_about },
    ...phasesOf(phases, ({ percent, total: count, stops_after_failures: stopsAfter, sites }) => ({
      percent,
      total: count,
      stopsAfter,
      appliances: [],
      beginsAbout: undefined,
      sites: sites.map(({ site_id: siteId, start_time: start, begins_about: begins = start, macs }) => {
        return { id: siteId, count: macs.length, begins }
      }),
    })),
    passing: paths.reduce((sum, { macs }) => sum + macs.length, 0),
    // The wizard names no strategy of the downloads, so they have one phase.
    downloading: downloads.reduce((sum, { total: count }) => sum + count, 0),
    skipped: skipped.map(deviceNote),
    noted: notes.flatMap(({ mac, ...note }) => (mac === undefined ? [] : [deviceNote({ ...note, mac })])),
    notes: notes.flatMap(({ mac, site_id: siteId, reason }) => (mac === undefined ? [{ siteId, reason }] : [])),
  }
}

function phasesOf<Phase extends { readonly total: number }>(
  phases: readonly Phase[],
  planned: (phase: Phase) => Omit<PlanPhase, 'number'>,
): Pick<Plan, 'phases' | 'emptyPhases'> {
  const numbered = phases.map((phase, index) => ({ phase, number: index + 1 }))
  return {
    phases: numbered.flatMap(({ phase, number }) => (phase.total === 0 ? [] : [{ number, ...planned(phase) }])),
    emptyPhases: numbered.flatMap(({ phase, number }) => (phase.total === 0 ? [number] : [])),
  }
}

function deviceNote({ mac, name, reason }: DevicePreview['skipped'][number]): PlanNote {
  return { id: mac, name: targetText({ mac, name }), address: macText(mac), reason }
}

/** Returns the plan of an upgrade of appliances. */
export function appliancePlan(preview: AppliancePreview, names: Names): Plan {
  const { plan_id: id, total, phases, skipped, notes } = preview
  const noteOf = (mxedgeId: string, reason: string): PlanNote => ({ ...applianceOf(mxedgeId, names), reason })
  return {
    ...{
      id,
      total,
      stopsAfter: preview.stops_after_failures,
      endsAbout: preview.ends_about,
      passing: 0,
      downloading: 0,
    },
    ...phasesOf(
      phases,
      ({ percent, total: count, stops_after_failures: stopsAfter, begins_about: beginsAbout, mxedges }) => ({
        percent,
        total: count,
        stopsAfter,
        sites: [],
        beginsAbout,
        appliances: mxedges.map(({ mxedge_id: mxedgeId, steps }) => {
          return { id: mxedgeId, name: applianceOf(mxedgeId, names).name, steps: steps.map(stepText) }
        }),
      }),
    ),
    skipped: skipped.map(({ mxedge_id: mxedgeId, reason }) => noteOf(mxedgeId, reason)),
    noted: notes.flatMap(({ mxedge_id: mxedgeId, reason }) =>
      mxedgeId === undefined ? [] : [noteOf(mxedgeId, reason)],
    ),
    notes: notes.flatMap(({ mxedge_id: mxedgeId, reason }) =>
      mxedgeId === undefined ? [{ siteId: undefined, reason }] : [],
    ),
  }
}

function applianceOf(id: string, names: Names): NamedMember {
  return { id, name: names.get(id) ?? id, address: undefined }
}

export interface ReasonGroup {
  readonly reason: string
  readonly members: readonly NamedMember[]
}

/** Groups notes by the reason, the most frequent first. */
export function groupByReason(notes: readonly PlanNote[]): readonly ReasonGroup[] {
  return [...Map.groupBy(notes, ({ reason }) => reason)]
    .map(([reason, members]) => ({ reason, members }))
    .toSorted((a, b) => b.members.length - a.members.length)
}

type Difference =
  | Schemas['UpgradePlanOutdated']['differences'][number]
  | Schemas['MxedgeUpgradePlanOutdated']['differences'][number]

export interface PlanChanges {
  readonly differences: readonly PlanDifference[]
  readonly total: number
}

export interface PlanDifference {
  /** Undefined: the site or the whole plan. */
  readonly member: NamedMember | undefined
  readonly siteId: string | undefined
  readonly reason: string
}

/** Returns the changes since the plan was made, from the body of the 409; null for any other body. */
export function changesIn(body: unknown, names: Names): PlanChanges | null {
  if (typeof body !== 'object' || body === null || !('differences' in body) || !('total' in body)) return null
  const { differences, total } = body
  if (!Array.isArray(differences) || typeof total !== 'number') return null
  return { differences: differences.map((difference: Difference) => differenceOf(difference, names)), total }
}

function differenceOf(difference: Difference, names: Names): PlanDifference {
  const { reason } = difference
  if ('mxedge_id' in difference && difference.mxedge_id !== undefined)
    return { member: applianceOf(difference.mxedge_id, names), siteId: undefined, reason }
  if (!('mac' in difference) || difference.mac === undefined)
    return { member: undefined, siteId: 'site_id' in difference ? difference.site_id : undefined, reason }
  return { member: deviceNote({ ...difference, mac: difference.mac }), siteId: undefined, reason }
}
