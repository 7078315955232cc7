import { closeCodes } from './close-codes.ts'
import type { Session } from './ucentral/session.ts'

/** The sessions of this process, at most one a device: the newest. */
export interface SessionRegistry {
  /** Makes it the session of its device unless a newer one is; the older of two is closed. */
  attach(session: Session): void
  /** Forgets the session; the one that has replaced it stays. */
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
