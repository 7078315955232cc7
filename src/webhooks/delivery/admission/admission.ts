import { type HeldCount, type OpenedLane, createClaimedTurns } from './claimed-turns.ts'
import { type Slot, type SlotOptions, createRequestSlots } from './request-slots.ts'

/** The number of organizations whose lanes are claimed together in order to ask for a slot. */
const MAX_ASKING = 32

/** The limits of a claim of lanes. */
export interface Vacancy {
  readonly lanes: number
  readonly bytes: number
  readonly held: readonly HeldCount[]
  readonly busyOrgIds: readonly string[]
  /** The number of lanes of the organization that may be claimed. */
  readonly lanesOf: (orgId: string) => number
  /** The webhooks that may be claimed; null for all. */
  readonly onlyWebhookIds: readonly string[] | null
  readonly exceptWebhookIds: readonly string[]
}

/** The period for which this process has a lane. */
export interface Turn {
  /** Returns a slot for a request; null when none is free. */
  start(): Slot | null
  /** Adds a message of this size; false when it does not fit. */
  add(bytes: number): boolean
  /** Releases the bytes of a message. */
  subtract(bytes: number): void
  /** Releases the bytes of all messages that are left. The lane's requests must have ended. */
  end(): void
}

export interface Admission {
  /**
   * Must be called before each claim. A lane is slow from its first slow request until a request is answered in time. Slow lanes
   * share the slow slots. While organizations may use no more slots, it admits once per second one lane of each that has no lane
   * which waits for its first slot. The admitted one then waits as the held lanes do.
   */
  vacancy(pace: 'fast' | 'slow'): Vacancy
  open(lane: OpenedLane): Turn
  /**
   * Moves requests that have become late or slow and cuts those without a slot. Must be called often.
   * @param asOfMs A time after which everything that has arrived was read.
   */
  age(asOfMs: number): void
  /** Aborts all requests and allows no more. */
  stop(): void
}

/** Assigns the slots for requests in flight; a slot serves one request. */
export function createAdmission(options: Omit<SlotOptions, 'moveBytes'>): Admission {
  const turns = createClaimedTurns(options.caps)
  const slots = createRequestSlots({ ...options, moveBytes: turns.moveToSlow })
  const { slowLanes } = slots
  return {
    vacancy(pace) {
      const isFast = pace === 'fast'
      const [pool, kept, bytes] = isFast
        ? [slots.fresh, slots.keptFresh, turns.fastBytes]
        : [slots.slow, slots.keptSlow, turns.slowBytes]
      const claimsToAsk = kept.claimsToAsk()
      return {
        lanes: claimsToAsk ? Math.max(pool.left(), MAX_ASKING) : pool.left(),
        bytes: bytes.left(),
        lanesOf: (orgId) => Math.max(pool.leftOf(orgId), claimsToAsk ? 1 : 0),
        held: turns.heldCounts(),
        busyOrgIds: [...bytes.fullOrgIds(), ...(claimsToAsk ? kept.waitingOrgIds() : pool.fullOrgIds())],
        onlyWebhookIds: isFast ? null : slowLanes.webhookIds(),
        exceptWebhookIds: isFast ? [...turns.webhookIds(), ...slowLanes.webhookIds()] : turns.webhookIds(),
      }
    },
    open(lane) {
      const turn = turns.open(lane, slowLanes.has(lane.webhookId))
      return {
        start: () => slots.start(turn),
        add: (more) => turns.add(turn, more),
        subtract: (less) => turns.subtract(turn, less),
        end: () => turns.end(turn),
      }
    },
    age: slots.age,
    stop: slots.stop,
  }
}
