import type { Db } from '../../platform/database/db.ts'
import { countPendingOf } from '../store-limits.ts'

/** Knows how many more messages may wait for an organization, without a query for each round of the router. */
export interface OrgRoom {
  /**
   * Returns the number of messages that each organization may add.
   * @param wanted The number of messages to add, by organization.
   */
  find(db: Db, wanted: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>
  /** Must be called with the added numbers. */
  subtract(added: ReadonlyMap<string, number>): void
}

interface Room {
  messages: number
  readonly countedMs: number
}

/** Replays are bounded by a separate count, so that the known number is wrong for at most a minute. */
const KNOWN_MS = 60e3
const MAX_ORGS = 10_000

/**
 * Only the router adds many messages, and messages that leave make room. So the known number only decreases, and is
 * counted again when it does not suffice.
 */
export function createOrgRoom(maxPending: number, nowMs: () => number = () => performance.now()): OrgRoom {
  const rooms = new Map<string, Room>()

  function isKnown(orgId: string, messages: number): boolean {
    const room = rooms.get(orgId)
    return room !== undefined && room.messages >= messages && nowMs() - room.countedMs < KNOWN_MS
  }

  return {
    async find(db, wanted) {
      if (rooms.size > MAX_ORGS) rooms.clear()
      const unknown = [...wanted].filter(([orgId, messages]) => !isKnown(orgId, messages)).map(([orgId]) => orgId)
      if (unknown.length > 0) {
        const pending = await countPendingOf(db, unknown)
        for (const orgId of unknown)
          rooms.set(orgId, { messages: maxPending - (pending.get(orgId) ?? 0), countedMs: nowMs() })
      }
      return new Map([...wanted.keys()].map((orgId) => [orgId, rooms.get(orgId)?.messages ?? 0]))
    },
    subtract(added) {
      for (const [orgId, messages] of added) {
        const room = rooms.get(orgId)
        if (room !== undefined) room.messages -= messages
      }
    },
  }
}
