import { installMs } from '../../mxedges/upgrades/decide-window.ts'
import { defaultMxedgeUpgradeOptions } from '../../mxedges/upgrades/options.ts'
import type { NewTarget, NewUpgrade } from '../../mxedges/upgrades/store-create.ts'
import type { MxedgeStep, PlaceWindows } from '../../mxedges/upgrades/upgrade.ts'
import { waitMsOf } from '../../rollout/gates/decide-wait.ts'
import { findOpening } from '../../orgs/windows/windows.ts'

const MINUTE_MS = 60_000
/**
 * The approximate time that a healthy appliance needs for a step: with its download, and with the reboot that a
 * distribution needs.
 */
const usualMs = { service: 2 * MINUTE_MS, distro: 20 * MINUTE_MS }

export interface MxedgeEstimate {
  /** Null: there is nothing to do. */
  readonly endsAbout: Date | null
  /** When the first appliance of each phase begins, from phase 1; null: it has none. */
  readonly beginsAbout: readonly (Date | null)[]
}

/**
 * Estimates when phases begin and when the upgrade ends: a phase follows the end of the one before, and in it a wave that
 * of another. The appliances of a wave are upgraded side by side; each waits for a maintenance window of its site that is
 * long enough for it.
 */
export function planMxedgeEstimate({ plan, targets, startAt }: NewUpgrade): MxedgeEstimate {
  const places = new Map(plan.windows?.map((place) => [place.site_id, place]))
  const byPhase = Map.groupBy(
    targets.filter(({ state }) => state === 'planned'),
    ({ phase }) => phase,
  )
  let endMs = startAt.getTime()
  const beginsAbout = plan.phase_sizes.map((size, index) => {
    const waves = Map.groupBy(byPhase.get(index + 1) ?? [], ({ wave }) => wave)
    const begins: number[] = []
    for (const [, members] of [...waves].toSorted(([a], [b]) => a - b)) {
      const opensMs = endMs
      const spans = members.map((target) => spanOf(target, places.get(target.plannedSiteId), opensMs))
      begins.push(spans.reduce((first, { beginMs }) => Math.min(first, beginMs), Infinity))
      endMs = spans.reduce((last, span) => Math.max(last, span.endMs), endMs)
    }
    const gate = plan.gates?.[index] ?? null
    endMs = Math.max(endMs + (size === 0 ? 0 : waitMsOf(gate)), 1000 * (gate?.not_before_s ?? 0))
    const [beginMs] = begins
    return beginMs === undefined ? null : new Date(beginMs)
  })
  return { endsAbout: byPhase.size === 0 ? null : new Date(endMs), beginsAbout }
}

function spanOf({ steps }: NewTarget, place: PlaceWindows | undefined, opensMs: number) {
  const needMs = installMs(steps, defaultMxedgeUpgradeOptions)
  const opening =
    place === undefined ? opensMs : findOpening(place.windows, place.timezone, { fromMs: opensMs, needMs })
  const beginMs = opening ?? opensMs
  return { beginMs, endMs: beginMs + steps.reduce((sum, step) => sum + usualMsOf(step), 0) }
}

function usualMsOf(step: MxedgeStep): number {
  return 'distro' in step ? usualMs.distro : usualMs.service
}
