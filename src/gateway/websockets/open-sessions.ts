import type { FrameSession } from './frame-session.ts'

/** All open sessions of a listener, with at most one per device that has not sent its hello. */
export interface OpenSessions<S extends FrameSession> {
  readonly all: Iterable<S>
  add(session: S): void
  remove(session: S): void
}

/** @param nameOf Names the device of a session. */
export function createOpenSessions<S extends FrameSession>(nameOf: (session: S) => string): OpenSessions<S> {
  const all = new Set<S>()
  /** By name. */
  const newest = new Map<string, S>()
  return {
    all,
    add(session) {
      const last = newest.get(nameOf(session))
      // Otherwise one certificate could open thousands of sockets that never send a hello.
      if (last?.isConnected === false) last.terminate()
      newest.set(nameOf(session), session)
      all.add(session)
    },
    remove(session) {
      all.delete(session)
      if (newest.get(nameOf(session)) === session) newest.delete(nameOf(session))
    },
  }
}
