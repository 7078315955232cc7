import { type Report, isRunning, upgradeStates } from '../upgrade.ts'

type Decision = Report['decisions'][number]

export interface TimelineEntry {
  /** Epoch seconds. */
  readonly at: number
  readonly what: string
  /** Empty: there is nothing to add. */
  readonly detail: string
}

type Told = Pick<Report, 'decisions' | 'downloads' | 'phases' | 'status' | 'ended_at'>

/** Returns what happened to an upgrade, the latest first: decisions of people and of the engine, its phases, and its end. */
export function timelineOf({
  decisions,
  downloads,
  phases,
  status,
  ended_at: endedAt,
}: Told): readonly TimelineEntry[] {
  const end =
    endedAt === undefined || isRunning(status) ? [] : [{ at: endedAt, what: upgradeStates[status].text, detail: '' }]
  // Among entries of the same time, the creation comes before the phases, and a decision about a phase after its end.
  const [created, later] = [decisions.slice(0, 1), decisions.slice(1)]
  const entries = [
    ...created.map(entryOf),
    ...downloads.flatMap((phase) => entriesOf(phase, 'Downloads', `${phase.downloaded} of ${phase.total} downloaded`)),
    ...phases.flatMap((phase) => entriesOf(phase, 'Phase', `${phase.upgraded} of ${phase.total} upgraded`)),
    ...later.map(entryOf),
    ...end,
  ]
  return entries.toSorted((one, other) => one.at - other.at).toReversed()
}

type Phase = Pick<Report['phases'][number], 'phase' | 'total' | 'failed' | 'opened_at' | 'ended_at'> & {
  readonly upgraded?: number
}

/** @param done How many devices have what the phase is for, such as "3 of 4 upgraded". */
function entriesOf(phase: Phase, name: string, done: string): readonly TimelineEntry[] {
  const { phase: number, total, upgraded = 0, failed, opened_at: openedAt, ended_at: endedAt } = phase
  // A phase that a stop has closed has an end, too.
  if (total === 0 || (openedAt === undefined && upgraded + failed === 0)) return []
  const detail = failed === 0 ? done : `${done}, ${failed} failed`
  return [
    ...(openedAt === undefined ? [] : [{ at: openedAt, what: `${name} opened · phase ${number}`, detail: '' }]),
    ...(endedAt === undefined ? [] : [{ at: endedAt, what: `${name} ended · phase ${number}`, detail }]),
  ]
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
  return words.charAt(0).toUpperCase() + words.slice(1) + (phase === undefined ? '' : ` · phase ${phase}`)
}

function detailOf({ name, reason, note }: Decision): string {
  return [name === undefined || name === 'rollout' ? undefined : `by ${name}`, reason, note]
    .filter((part) => part !== undefined && part !== '')
    .join(' · ')
}
