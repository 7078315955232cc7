/** Reports once when a lane has room for events of a backlog again. */
export interface RoomNotice {
  /** Calls `onRoom` once when the lane accepts `events` events, or when they have to be routed. Only the last call counts. */
  readonly request: (events: number, onRoom: () => void) => void
  /** Must be called whenever the room may have changed. */
  check(): void
}

/** @param room Returns how many events the lane accepts now; null if they have to be routed. */
export function createRoomNotice(room: () => number | null): RoomNotice {
  let requested: { readonly events: number; readonly onRoom: () => void } | null = null
  return {
    request(events, onRoom) {
      requested = { events, onRoom }
    },
    check() {
      if (requested === null || (room() ?? Infinity) < requested.events) return
      const { onRoom } = requested
      // Before the call, because it may request the next notice.
      requested = null
      onRoom()
    },
  }
}
