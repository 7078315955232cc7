import type { Caps } from './caps.ts'
import { type Pool, createPool } from './pool.ts'

/** The lanes of an organization that this process has claimed and that have messages. An idle lane takes no turn. */
export interface HeldCount {
  readonly orgId: string
  readonly lanes: number
}

/** The turn of a lane, with the bytes of its messages. */
export interface ClaimedTurn extends Omit<OpenedLane, 'bytes'> {
  bytes: number
  bytePool: Pool
  /** The requests in flight. */
  requests: number
}

export interface OpenedLane {
  readonly orgId: string
  readonly webhookId: string
  /** The size of the messages with which the turn begins. */
  readonly bytes: number
  /** Lets the lane ask once more for a slot that it did not get. */
  readonly retry: () => void
}

/** The turns of the lanes that this process has claimed. Each takes the bytes of its messages from one of two pools. */
export interface ClaimedTurns {
  readonly fastBytes: Pool
  readonly slowBytes: Pool
  open(lane: OpenedLane, isSlow: boolean): ClaimedTurn
  /** @returns False if the bytes do not fit. */
  add(turn: ClaimedTurn, bytes: number): boolean
  subtract(turn: ClaimedTurn, bytes: number): void
  end(turn: ClaimedTurn): void
  /** Takes the bytes of the turn from the pool of slow lanes. @returns False if they do not fit. */
  readonly moveToSlow: (turn: ClaimedTurn) => boolean
  webhookIds(): string[]
  heldCounts(): HeldCount[]
}

export function createClaimedTurns(caps: Pick<Caps, 'fastBytes' | 'slowBytes'>): ClaimedTurns {
  const [fastBytes, slowBytes] = [createPool(caps.fastBytes), createPool(caps.slowBytes)]
  const claimed = new Map<string, ClaimedTurn>()
  return {
    fastBytes,
    slowBytes,
    open(lane, isSlow) {
      const turn = { ...lane, bytePool: isSlow ? slowBytes : fastBytes, requests: 0 }
      claimed.set(lane.webhookId, turn)
      turn.bytePool.add(lane.orgId, lane.bytes)
      return turn
    },
    add(turn, more) {
      if (!turn.bytePool.fits(turn.orgId, more)) return false
      turn.bytes += more
      turn.bytePool.add(turn.orgId, more)
      return true
    },
    subtract(turn, less) {
      turn.bytes -= less
      turn.bytePool.add(turn.orgId, -less)
    },
    end(turn) {
      // The next turn of the lane may have begun.
      if (claimed.get(turn.webhookId) === turn) claimed.delete(turn.webhookId)
      turn.bytePool.add(turn.orgId, -turn.bytes)
    },
    moveToSlow(turn) {
      if (turn.bytePool === slowBytes) return true
      if (!slowBytes.fits(turn.orgId, turn.bytes)) return false
      turn.bytePool.add(turn.orgId, -turn.bytes)
      turn.bytePool = slowBytes
      slowBytes.add(turn.orgId, turn.bytes)
      return true
    },
    webhookIds: () => [...claimed.keys()],
    heldCounts() {
      const counts = new Map<string, number>()
      for (const { orgId, bytes } of claimed.values()) if (bytes > 0) counts.set(orgId, (counts.get(orgId) ?? 0) + 1)
      return [...counts].map(([orgId, lanes]) => ({ orgId, lanes }))
    },
  }
}
