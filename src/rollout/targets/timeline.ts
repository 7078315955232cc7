import type { TargetState } from '../rollout.ts'
import { keysOf } from '../../platform/records.ts'

/** A transition of a target, or the end of an attempt, which does not change the state. */
export interface TimelineStep {
  /** The state that it led to. */
  readonly state: TargetState
  readonly at: Date
  readonly reason: string | null
}

/** Letters represent the states, because every version of a target's row repeats its timeline. Letters never change. */
const letters = {
  planned: 'p',
  deferred: 'o',
  dl_requested: 'q',
  downloading: 'd',
  downloaded: 'i',
  reboot_requested: 'r',
  rebooting: 'b',
  verifying: 'v',
  snapshotting: 's',
  rolling_back: 'w',
  upgraded: 'u',
  staged: 'g',
  failed: 'f',
  skipped: 'k',
  cancelled: 'c',
} as const satisfies Record<TargetState, string>

const states = new Map<string, TargetState>(keysOf(letters).map((state) => [letters[state], state]))

/** A device words some of the reasons itself. The target's command shows all of them. */
const MAX_REASON_CHARACTERS = 200

/**
 * A longer timeline loses its first step with each further one. A device whose connection flaps for days makes
 * thousands.
 */
export const MAX_TIMELINE_CHARACTERS = 8000

/** Encodes a step as one line: the letter of the state, the time in milliseconds, base 36, and the reason, if any. */
export function encodeStep({ state, at, reason }: TimelineStep): string {
  const cause =
    reason === null ? '' : ` ${reason.slice(0, MAX_REASON_CHARACTERS).toWellFormed().replaceAll(/\s+/g, ' ')}`
  return `${letters[state]}${at.getTime().toString(36)}${cause}\n`
}

/** Returns a regular expression of PostgreSQL whose group is the reason of the last step to the state that has one. */
export function lastReasonPattern(state: TargetState): string {
  return `(?:^|.*\\n)${letters[state]}[0-9a-z]+ ([^\\n]+)\\n`
}

/** Decodes the steps of a timeline, in order. */
export function decodeTimeline(timeline: string): TimelineStep[] {
  return timeline.split('\n').flatMap((line) => {
    const [, letter = '', time = '', reason = null] = /^([a-z])([0-9a-z]+)(?: (.*))?$/.exec(line) ?? []
    const state = states.get(letter)
    return state === undefined ? [] : [{ state, at: new Date(Number.parseInt(time, 36)), reason }]
  })
}
