import { grouped } from '../../../display/texts/counted.ts'
import { type Report, isRunning, upgradeStates } from '../../upgrade.ts'
import type { PhaseCounts } from '../../phase-counts.ts'
import { lastOpenedOf } from '../../verdict.ts'

type Decision = Report['decisions'][number]

export interface TimelineEntry {
  /** Epoch seconds. */
  readonly at: number
  readonly what: string
  /** Empty: there is nothing to add. */
  readonly detail: string
}

type Source = Pick<Report, 'decisions' | 'downloads' | 'phases' | 'status' | 'ended_at'>

/** Returns what happened to an upgrade, the latest first: decisions of people and of the engine, its phases, and its end. */
export function timelineOf({
  decisions,
  downloads,
  phases,
  status,
  ended_at: endedAt,
}: Source): readonly TimelineEntry[] {
  const end =
    endedAt === undefined || isRunning(status) ? [] : [{ at: endedAt, what: upgradeStates[status].text, detail: '' }]
  // Among entries of the same time, the creation comes before the phases, and a decision about a phase after its end.
  const [created, later] = [decisions.slice(0, 1), decisions.slice(1)]
  const entries = [
    ...created.map(entryOf),
    ...downloads.flatMap(({ phase, total, opened_at: openedAt }) =>
      openedAt === undefined || total === 0 ? [] : [openingOf('Downloads', phase, openedAt)],
    ),
    ...entriesOf(phases),
    ...later.map(entryOf),
    ...end,
  ]
  return entries.toSorted((one, other) => one.at - other.at).toReversed()
}

/**
 * Leaves out the phases that never opened: they have an end too if a stop closed them, or if all their devices failed to
 * download. Without a time of its opening, a phase that failed is known to have opened if it ended after the one before.
 */
function entriesOf(phases: Source['phases']): readonly TimelineEntry[] {
  const lastOpened = lastOpenedOf(phases) ?? 0
  let before = 0
  return phases.flatMap(({ phase, total, upgraded, failed, opened_at: openedAt, ended_at: endedAt }) => {
    const hasFailed = failed === total && endedAt !== undefined && endedAt >= before
    if (total === 0 || (phase > lastOpened && !hasFailed)) return []
    before = endedAt ?? Infinity
    return timesOf({ phase, total, upgraded, failed, openedAt: openedAt ?? null, endedAt: endedAt ?? null })
  })
}

type TimedPhase = Pick<PhaseCounts, 'phase' | 'total' | 'upgraded' | 'failed' | 'openedAt' | 'endedAt'>

/** Returns when a phase opened, and when and how it ended. */
export function timesOf({ phase, total, upgraded, failed, openedAt, endedAt }: TimedPhase): readonly TimelineEntry[] {
  const done = `${grouped(upgraded)} of ${grouped(total)} upgraded`
  const detail = failed === 0 ? done : `${done}, ${grouped(failed)} failed`
  return [
    ...(openedAt === null ? [] : [openingOf('Phase', phase, openedAt)]),
    ...(endedAt === null ? [] : [{ at: endedAt, what: `Phase ended · phase ${phase}`, detail }]),
  ]
}

function openingOf(name: string, phase: number, at: number): TimelineEntry {
  return { at, what: `${name} opened · phase ${phase}`, detail: '' }
}

function entryOf(decision: Decision): TimelineEntry {
  return { at: decision.timestamp, what: whatOf(decision), detail: detailOf(decision) }
}

/** Returns a name such as `UPGRADE_DEVICES_TAKEN` as words: "Devices taken". */
function whatOf({ type, phase }: Decision): string {
  const words = type
    .replace(/^UPGRADE_/, '')
    .toLowerCase()
    .replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1) + (phase === undefined ? '' : placeText(phase))
}

/** Names the phase of an entry behind its words; 0 is the start. */
export function placeText(phase: number): string {
  return phase === 0 ? ' · start' : ` · phase ${phase}`
}

function detailOf({ name, reason, note }: Decision): string {
  return [name === undefined || name === 'rollout' ? undefined : `by ${name}`, reason, note]
    .filter((part) => part !== undefined && part !== '')
    .join(' · ')
}
