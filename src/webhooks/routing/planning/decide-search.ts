import { UUID } from 'uuidv7'

/** A search by time waits no longer than this for a round that takes all known events. */
const MAX_DELAY_MS = 10_000

interface Known {
  /** True when the outbox may have events that are ripe and not known. */
  readonly mustSearch: boolean
  /** When a queue will be ripe. */
  readonly searchAt: Date | null
  /** When to search by time, on the clock of `performance.now()`. */
  readonly nextSearchMs: number
  /** The number of known events. */
  readonly known: number
  /** The number of events for which a round is planned. */
  readonly eventsPerRound: number
}

/**
 * Decides whether a round searches the outbox. A search that finds more than a round takes is followed by another one, so a
 * search by time waits while as many events are known: their rounds look them up by their ids, however many dead rows an open
 * transaction retains.
 */
export function isSearchDue(
  { mustSearch, searchAt, nextSearchMs, known, eventsPerRound }: Known,
  now: Date,
  nowMs: number,
): boolean {
  if (mustSearch || (searchAt !== null && searchAt <= now)) return true
  return nowMs >= (known < eventsPerRound ? nextSearchMs : nextSearchMs + MAX_DELAY_MS)
}

/** An event that is committed later than this after its id was made may have to wait for a search of the whole outbox. */
const LATE_COMMIT_MS = 5000

/**
 * Decides from which id the next search begins, so that it does not read the events that are gone: the lowest id that a pass
 * of all queues has found. Meanwhile events with lower ids may have been committed, but ids begin with the time.
 * @param beganMs When the pass began, by the clock of the ids.
 * @param firstId Null if the pass has found no event.
 */
export function decideFloor(beganMs: number, firstId: string | null): string {
  const floor = UUID.fromFieldsV7(beganMs - LATE_COMMIT_MS, 0, 0, 0).toString()
  return firstId !== null && firstId < floor ? firstId : floor
}
