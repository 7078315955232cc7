import type { Schemas } from '../api/client.ts'
import { type Hold, type Words, isRunning } from './upgrade.ts'
import type { PhaseCounts } from './phase-counts.ts'
import { isBeforeStart } from './verdict.ts'
import { capital } from '../display/texts/capital.ts'
import { localText } from '../display/times/local-text.ts'

export type ApplianceUpgrade = Schemas['MxedgeUpgrade']
export type ApplianceTarget = Schemas['MxedgeUpgradeTarget']
export type Gate = NonNullable<ApplianceUpgrade['start_gate']>
type Status = ApplianceTarget['status']

/** The states of appliances; those that say most come first. */
export const applianceStates: Readonly<Record<Status, Words>> = {
  failed: { tone: 'bad', text: 'Failed' },
  upgrading: { tone: 'busy', text: 'Upgrading' },
  downloading: { tone: 'busy', text: 'Downloading' },
  downloaded: { tone: 'busy', text: 'Packages ready' },
  queued: { tone: 'idle', text: 'Waiting' },
  success: { tone: 'good', text: 'Upgraded' },
  skipped: { tone: 'idle', text: 'Skipped' },
  cancelled: { tone: 'warn', text: 'Cancelled' },
}

const order = Object.keys(applianceStates)

export function orderTargets(targets: readonly ApplianceTarget[]): readonly ApplianceTarget[] {
  return targets.toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
}

/** True until the appliance installs or has ended in the upgrade. */
export function isWaiting({ status }: Pick<ApplianceTarget, 'status'>): boolean {
  return ['queued', 'downloading', 'downloaded'].includes(status)
}

type Standing = Pick<ApplianceUpgrade, 'status' | 'phase' | 'phase_sizes'>
type Timed = Standing & Pick<ApplianceUpgrade, 'phase_times'>

/** Counts the appliances of each phase; the parts sum to the total. */
export function countAppliances(
  { status, phase: open, phase_sizes: sizes, phase_times: times }: Timed,
  targets: readonly ApplianceTarget[],
): readonly PhaseCounts[] {
  const timesOf = new Map(times.map((one) => [one.phase, one]))
  const byPhase = Map.groupBy(targets, ({ phase }) => phase ?? 0)
  return sizes.map((total, index) => {
    const phase = index + 1
    const inPhase = byPhase.get(phase) ?? []
    const count = (...states: readonly Status[]): number =>
      inPhase.filter((target) => states.includes(target.status)).length
    const [upgraded, failed, cancelled] = [count('success'), count('failed'), count('cancelled')]
    const underWay = count('upgrading', 'downloading', 'downloaded')
    return {
      ...{ phase, total, upgraded, failed, underWay, cancelled },
      waiting: Math.max(0, total - upgraded - failed - underWay - cancelled),
      openedAt: timesOf.get(phase)?.begun_time ?? null,
      endedAt: timesOf.get(phase)?.ended_time ?? null,
      state: stateOf(status, phase - open),
    }
  })
}

/** @param ahead How many phases come before it from the open one on; negative for one that has ended. */
function stateOf(status: ApplianceUpgrade['status'], ahead: number): PhaseCounts['state'] {
  if (status === 'completed' || ahead < 0) return 'ended'
  if (status === 'queued') return 'ahead'
  if (isRunning(status)) return ahead === 0 ? 'open' : 'ahead'
  return ahead === 0 ? 'ended' : 'closed'
}

/** Returns the phases that have appliances, or had any, as the report of an upgrade of devices has them. */
export function gatedPhasesOf({ gates = [] }: Pick<ApplianceUpgrade, 'gates'>, counts: readonly PhaseCounts[]) {
  const gateOf = new Map(gates.map(({ phase, gate }) => [phase, gate]))
  return counts.flatMap(({ phase, total, upgraded, failed, openedAt, endedAt }) => {
    const gate = gateOf.get(phase)
    if (total === 0 && gate === undefined) return []
    const times = { ...(openedAt !== null && { opened_at: openedAt }), ...(endedAt !== null && { ended_at: endedAt }) }
    return [{ ...{ phase, total, upgraded, failed }, ...times, ...(gate !== undefined && { gate }) }]
  })
}

/** Returns the gate at which the upgrade waits; undefined: none. */
export function heldGateOfAppliances(
  { phase, gates = [], start_gate: start }: Pick<ApplianceUpgrade, 'phase' | 'gates' | 'start_gate'>,
  hold: Hold | null,
): Gate | undefined {
  return isBeforeStart(hold) ? start : gates.find((one) => one.phase === phase)?.gate
}

/** Returns in a sentence how an upgrade stands. @param zone That of its times. Default: the zone of the viewer. */
export function applianceVerdict(
  upgrade: Standing & Pick<ApplianceUpgrade, 'counts' | 'held' | 'stop_reason'>,
  zone?: string,
): string {
  const { status, phase, phase_sizes: sizes, counts, held, stop_reason: stopReason } = upgrade
  const { success, total, skipped, failed } = counts
  const others = [skipped > 0 && `${skipped} skipped`, failed > 0 && `${failed} failed`].filter(
    (part) => part !== false,
  )
  const progress = [`${success} of ${total} upgraded`, ...others].join(', ')
  if (stopReason !== undefined) return `${progress}. ${capital(localText(stopReason, zone))}`
  if (!isRunning(status)) return progress
  if (status === 'queued' && held === undefined) return `Not begun: ${progress}`
  const open = `phase ${phase} of ${sizes.length}`
  if (held === undefined) return `${capital(open)}: ${progress}`
  const place = status === 'queued' ? 'before its start' : `in ${open}`
  return `${held.by === 'user' ? 'Paused' : 'Waits'} ${place}: ${progress}`
}
