import { counted, grouped } from '../display/texts/counted.ts'
import { type Hold, type Report, type Standing, isRunning } from './upgrade.ts'
import { localText } from '../display/times/local-text.ts'

export interface State extends Omit<Standing, 'status'> {
  readonly report: Report
}

/**
 * Returns in a sentence how an upgrade stands.
 * @param zone That of its times. Default: the zone of the viewer.
 */
export function verdictOf({ report, hold, stopReason }: State, zone?: string): string {
  const { total, upgraded, failed, skipped, status, stops_after_failures: stops } = report
  const failures =
    stops !== null && stopReason === null && isRunning(status)
      ? `, ${budgetText(report)}`
      : failed === 0
        ? ''
        : `, ${grouped(failed)} failed`
  const others = skipped > 0 ? `, ${grouped(skipped)} skipped` : ''
  const progress = `${grouped(upgraded)} of ${grouped(total)} upgraded${others}${failures}`
  if (stopReason !== null) return `${progress}. ${sentence(localText(stopReason, zone))}`
  if (!isRunning(status)) return progress
  const open = openPhaseOf(report)
  const phase = open === null ? 'Not begun' : `Phase ${grouped(open)} of ${grouped(lastPhaseOf(report.phases))}`
  if (hold === null) return `${phase}: ${progress}`
  if (isBeforeStart(hold)) return `Waits before its start: ${progress}`
  const { phases, phase: heldPhase, words } = heldPhaseOf(report, hold)
  return `${hold.by === 'user' ? 'Paused' : 'Waits'} in ${words} ${grouped(heldPhase)} of ${grouped(lastPhaseOf(phases))}: ${progress}`
}

interface Numbered {
  readonly phase: number
}

/** Returns the number of the last phase. A report has no phases that the plan left empty, and keeps the numbers of the others. */
function lastPhaseOf(phases: readonly Numbered[]): number {
  return phases.at(-1)?.phase ?? 0
}

/** Returns the phase that follows the one of a number; undefined: none does. */
export function phaseAfter<Phase extends Numbered>(phases: readonly Phase[], number: number): Phase | undefined {
  return phases.find(({ phase }) => phase > number)
}

/** True while the upgrade waits for the approval of its start. */
export function isBeforeStart(hold: Hold | null): boolean {
  return hold?.phase === 0
}

export interface HeldPhase {
  /** Those of the same kind. */
  readonly phases: readonly Pick<Report['phases'][number], 'phase' | 'total' | 'failed' | 'gate'>[]
  /** The phase that is open, from 1. */
  readonly phase: number
  readonly words: 'phase' | 'download phase'
}

/** Returns the phase that was open when the upgrade began to wait: one of the downloads at one of their gates. */
export function heldPhaseOf({ phases, downloads }: Pick<Report, 'phases' | 'downloads'>, hold: Hold | null): HeldPhase {
  if (hold?.phase_of !== 'downloads') return { phases, phase: openPhaseOf({ phases }) ?? 1, words: 'phase' }
  return { phases: downloads, phase: openPhaseOf({ phases: downloads }) ?? 1, words: 'download phase' }
}

/** Returns the gate at which the upgrade waits; undefined: none. */
export function heldGateOf(report: Pick<Report, 'phases' | 'downloads' | 'start_gate'>, hold: Hold | null) {
  if (isBeforeStart(hold)) return report.start_gate
  const { phases, phase } = heldPhaseOf(report, hold)
  return phases.find((one) => one.phase === phase)?.gate
}

/** Returns the phase for which the upgrade waits, such as "Phase 2". */
export function nextPhaseText({ phases, phase, words }: HeldPhase): string {
  return sentence(`${words} ${grouped(phaseAfter(phases, phase)?.phase ?? phase + 1)}`)
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns how many of the tolerated failures there were, and which one stops the upgrade. */
export function budgetText({
  failed,
  stops_after_failures: stops,
}: Pick<Report, 'failed' | 'stops_after_failures'>): string {
  if (stops === null) return `${grouped(failed)} failed, and no number of failures stops it`
  if (stops === 1) return failed === 0 ? 'stops at the first failure' : `${grouped(failed)} failed`
  return `${grouped(failed)} of ${grouped(stops - 1)} tolerated failures, stops at ${grouped(stops)}`
}

interface OpenedPhase extends Pick<Report['phases'][number], 'phase' | 'opened_at' | 'ended_at' | 'gate'> {
  readonly upgraded?: number
}

/**
 * Returns the number of the last phase that is known to have opened; null before the first. Phases of `serial` and `rrm` after the
 * first have no times. A failure proves nothing: the download may have failed, which may precede the phase.
 */
export function lastOpenedOf(phases: readonly OpenedPhase[]): number | null {
  return (
    phases.findLast(({ opened_at: openedAt, upgraded = 0 }) => openedAt !== undefined || upgraded > 0)?.phase ?? null
  )
}

/**
 * Returns the number of the phase in which a running upgrade is; null before the first. A phase without a gate is followed by
 * the next one as soon as it has ended.
 */
export function openPhaseOf({ phases }: { readonly phases: readonly OpenedPhase[] }): number | null {
  const opened = lastOpenedOf(phases)
  if (opened === null) return null
  const rest = phases.filter(({ phase }) => phase >= opened)
  const open = rest.find(({ ended_at: endedAt, gate }) => endedAt === undefined || gate !== undefined)
  return open?.phase ?? rest.at(-1)?.phase ?? null
}

/** Returns in a sentence that an upgrade awaits devices of others; null if it awaits none. */
export function awaitedText(awaited: number, unit: string): string | null {
  if (awaited === 0) return null
  return `This upgrade awaits ${ofOthers(awaited, unit)}. It looks at each once the other upgrade has ended with it.`
}

/** Returns in a sentence for how many devices, routers or appliances an upgrade waits that are offline; null if for none. */
export function offlineText({ offline = 0 }: { readonly offline?: number }, unit: string): string | null {
  if (offline === 0) return null
  return `This upgrade waits for ${counted(offline, `${unit} that is offline`, `${unit}s that are offline`)}.`
}

/** Returns what it means to stop this. */
export function stopWaitingEffect(awaited: number, unit: string): string {
  return `This upgrade no longer takes in the ${ofOthers(awaited, unit)}, nor any other ${unit}. This cannot be undone.`
}

function ofOthers(awaited: number, unit: string): string {
  return counted(awaited, `${unit} that is in another upgrade`, `${unit}s that are in other upgrades`)
}

/** The actions of a person on an upgrade. */
export type Action = 'pause' | 'resume' | 'approve' | 'cancel' | 'retry' | 'stopWaiting'

interface Offering extends Standing {
  readonly failed: number
  /** True if the person who looks at it can't give the approval that it waits for. */
  readonly isBarred?: boolean
  /** The number of devices of other upgrades that it awaits. */
  readonly awaited: number
  /** When it stops by itself, in epoch seconds: nothing can be retried after it. Absent: never. */
  readonly endTime?: number | undefined
}

/** Returns the actions that make sense now. */
export function actionsOf(offering: Offering): readonly Action[] {
  const { status, failed, awaited, hold, stopReason, isBarred = false, endTime = Infinity } = offering
  if (!isRunning(status)) {
    const retry: readonly Action[] = failed > 0 && endTime * 1000 > Date.now() ? ['retry'] : []
    return awaited > 0 ? [...retry, 'stopWaiting'] : retry
  }
  if (stopReason !== null) return []
  if (hold === null) return ['pause', 'cancel']
  if (hold.by !== 'approval') return ['resume', 'cancel']
  return isBarred ? ['cancel'] : ['approve', 'cancel']
}
