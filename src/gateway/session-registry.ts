import { closeCodes } from './close-codes.ts'
import type { Session } from './ucentral/session.ts'

/** Holds the newest session of each device that is connected to this process. */
export interface SessionRegistry {
  /** Registers the session unless the device has a newer one; closes the older of the two. */
  attach(session: Session): void
  /** Removes the session unless another one has replaced it. */
  detach(session: Session): void
  find(deviceId: string): Session | undefined
  all(): Iterable<Session>
  size(): number
}

export function createSessionRegistry(): SessionRegistry {
  const sessions = new Map<string, Session>()
  return {
    attach(session) {
      const other = sessions.get(session.deviceId)
      if (other !== undefined && BigInt(other.epoch) > BigInt(session.epoch)) {
        session.close(closeCodes.replaced, 'a newer connection of the device is open')
        return
      }
      sessions.set(session.deviceId, session)
      other?.close(closeCodes.replaced, 'a newer connection of the device is open')
    },
    detach(session) {
      if (sessions.get(session.deviceId) === session) sessions.delete(session.deviceId)
    },
    find: (deviceId) => sessions.get(deviceId),
    all: () => sessions.values(),
    size: () => sessions.size,
  }
}
