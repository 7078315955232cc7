import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { eventSearchesOf } from './support/searches/event-searches.ts'
import { fillEvents } from './support/searches/filled-events.ts'
import { ROUNDS, measureSearches } from './support/searches/measure.ts'
import { startSignalbox } from './support/signalbox.ts'

export const options = { events: { type: 'string' }, rounds: { type: 'string' } } as const

const DEFAULT_EVENTS = 1_000_000

/**
 * Measures how long the server takes to search a month of device events, system events, audit records and deliveries,
 * one request at a time.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const events = parseCount(values, 'events', DEFAULT_EVENTS)
  const rounds = parseCount(values, 'rounds', ROUNDS)
  const signalbox = await startSignalbox()
  try {
    const searches = eventSearchesOf({ orgId: signalbox.orgId, ...(await fillEvents(signalbox, events)) })
    return { events, rounds, ...(await measureSearches(signalbox, searches, rounds)) }
  } finally {
    await signalbox.stop()
  }
}
