import { type MaintenanceWindow, describeWindows, longestMs } from '../../orgs/windows/windows.ts'
import { installMs } from '../../mxedges/upgrades/decide-window.ts'
import { defaultMxedgeUpgradeOptions } from '../../mxedges/upgrades/options.ts'
import type { PlaceWindows } from '../../mxedges/upgrades/upgrade.ts'
import { findZone } from '../planning/plan-start.ts'
import type { PlannedSteps } from './plan-steps.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/** A site with appliances; null: those without a site. */
export interface Place {
  readonly siteId: string | null
  readonly timezone: string
}

export interface PlannedPlaces {
  /** The places with maintenance windows. */
  readonly places: readonly PlaceWindows[]
  readonly notes: readonly { readonly reason: string }[]
}

/**
 * Plans the maintenance windows of each place: those of the request, or else of the settings. Appliances without a site
 * have those of the organization, in UTC.
 */
export function planPlaces(
  { windows: requested }: Pick<MxedgeUpgradeRequest, 'windows'>,
  places: readonly Place[],
  ofPlaces: ReadonlyMap<string | null, readonly MaintenanceWindow[]>,
): PlannedPlaces {
  const planned = places.map(({ siteId, timezone }) => {
    const ofPlace = ofPlaces.get(siteId) ?? []
    const place = { site_id: siteId, timezone: findZone(timezone)?.name ?? 'UTC', windows: requested ?? ofPlace }
    return { place, reason: noteOf(place, ofPlace, requested === null ? 'settings' : 'request') }
  })
  const reasons = new Set(planned.flatMap(({ reason }) => reason ?? []))
  return {
    places: planned.flatMap(({ place }) => (place.windows.length > 0 ? [place] : [])),
    notes: [...reasons].map((reason) => ({ reason })),
  }
}

function noteOf(
  { windows, timezone }: PlaceWindows,
  ofPlace: readonly MaintenanceWindow[],
  source: 'settings' | 'request',
): string | null {
  if (windows.length > 0)
    return `Edge appliances begin only in the maintenance windows of the ${source}: ${describeWindows(windows)} (${timezone})`
  if (ofPlace.length === 0) return null
  return `The maintenance windows of the settings do not apply: ${describeWindows(ofPlace)}`
}

/** Leaves out an appliance for which no window of its place is long enough. */
export function limitToWindows(planned: PlannedSteps, place: PlaceWindows | undefined): PlannedSteps {
  if (place === undefined || planned.steps.length === 0) return planned
  const needMs = installMs(planned.steps, defaultMxedgeUpgradeOptions)
  const lengthMs = longestMs(place.windows)
  // The worker looks a moment after a window opens, when one that is only just long enough has become too short.
  if (needMs < lengthMs) return planned
  const reason = `it may take ${needMs / 60_000} minutes, and no maintenance window of its site has more than ${lengthMs / 60_000}`
  return { ...planned, steps: [], reasons: [reason] }
}
