import type { Db } from '../../platform/database/db.ts'
import { type OrgRoom, planOrgRoom } from '../limits/plan-org-room.ts'
import { countPendingOf } from '../limits/store.ts'

/** Knows how many more messages may wait for organizations, without a query for each round of the router. */
export interface OrgRooms {
  /**
   * Returns the room of each organization.
   * @param wanted The number of messages to add, by organization.
   */
  find(db: Db, wanted: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, OrgRoom>>
  /** Must be called with the added numbers. */
  subtract(added: ReadonlyMap<string, number>): void
}

interface KnownRoom extends OrgRoom {
  shared: number
  readonly countedMs: number
}

/** Replays are bounded by a separate count, so that the known number is wrong for at most a minute. */
const KNOWN_MS = 60e3
const MAX_ORGS = 10_000

/**
 * Only the router adds many messages, and messages that leave make room. So the known number only decreases, and is
 * counted again when it does not suffice.
 */
export function createOrgRooms(maxPending: number, nowMs: () => number = () => performance.now()): OrgRooms {
  const rooms = new Map<string, KnownRoom>()

  function isKnown(orgId: string, messages: number): boolean {
    const room = rooms.get(orgId)
    return room !== undefined && room.shared >= messages && nowMs() - room.countedMs < KNOWN_MS
  }

  return {
    async find(db, wanted) {
      if (rooms.size > MAX_ORGS) rooms.clear()
      const unknown = [...wanted].filter(([orgId, messages]) => !isKnown(orgId, messages)).map(([orgId]) => orgId)
      if (unknown.length > 0) {
        const pending = await countPendingOf(db, unknown)
        for (const orgId of unknown)
          rooms.set(orgId, { ...planOrgRoom(maxPending, pending.get(orgId) ?? []), countedMs: nowMs() })
      }
      const found = new Map<string, OrgRoom>()
      for (const orgId of wanted.keys()) {
        const room = rooms.get(orgId)
        if (room !== undefined) found.set(orgId, room)
      }
      return found
    },
    subtract(added) {
      for (const [orgId, messages] of added) {
        const room = rooms.get(orgId)
        if (room !== undefined) room.shared -= messages
      }
    },
  }
}
