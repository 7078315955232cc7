import { keysOf } from '../display/keys-of.ts'

/** Which alarms are shown: their words, and the filter of the search. */
export const alarmChoices = {
  open: { text: 'Open', empty: 'No open alarms', query: { status: 'open' } },
  unacked: {
    text: 'Open, not acknowledged',
    empty: 'No open alarms that nobody has acknowledged',
    query: { status: 'open', acked: false },
  },
  all: { text: 'All of 7 days', empty: 'No alarms in a week', query: {} },
} as const

export type AlarmChoice = keyof typeof alarmChoices

export const alarmChoiceNames: readonly AlarmChoice[] = keysOf(alarmChoices)

/** At first. */
export const SHOWN = 6
/** After each time that more are asked for. The last is the most that one call returns. */
const limits = [100, 1000]

/** Returns the next number of alarms to show; null after the last. */
export function nextLimit(limit: number): number | null {
  return limits.find((next) => next > limit) ?? null
}
