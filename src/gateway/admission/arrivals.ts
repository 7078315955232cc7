import type { Socket } from 'node:net'
import { Admission, type AdmissionLimits } from './admission.ts'
import { admitByTurns } from './admit-by-turns.ts'
import { InputWatch } from './input-watch.ts'

/**
 * Tracks connections that are not sessions yet. They first wait unread for their turn; clients allow 30 s for TLS. Then
 * each one has a deadline, because its peer has proved little. While others wait for a place, the one that has been
 * silent for longest is closed. An access point gives up 5 s after its upgrade request: after a later answer it does
 * not connect again until its watchdog restarts it after 5 minutes.
 */
export interface Arrivals {
  add(socket: Socket, address: string): void
  /** Marks the TLS handshake as complete, so that another one may begin. */
  shakenHands(socket: Socket): void
  /** Called for an upgrade request. Destroys the connection and returns false when the answer would come too late. */
  checkInTime(socket: Socket): boolean
  /** Removes a connection that has become a session. */
  remove(socket: Socket): void
  /** Refuses a connection by leaving it unanswered for a while: an instant refusal invites an instant retry. */
  hold(socket: Socket): void
  /** Destroys the connections that are past their deadline. */
  dropLate(): void
  /** Destroys all connections and accepts no more. */
  stop(): void
}

/** Time limits for connections that are not sessions yet. */
export interface ArrivalTimes {
  /** From the beginning of TLS to the upgrade request. */
  readonly upgradeMs: number
  /** From the arrival of the request to its answer. */
  readonly answerMs: number
  /** How long a peer may be silent during TLS while others wait for its place. */
  readonly silentMs: number
  /** How often waiting connections are checked. */
  readonly lookMs: number
}

export interface ArrivalsOptions extends ArrivalTimes {
  readonly admission: AdmissionLimits
  readonly now: () => number
  /** Called when the connection's turn has come. */
  readonly beginTls: (socket: Socket) => void
  readonly onRefused: (why: 'busy' | 'late' | 'silent', socket: Socket) => void
}

interface Arrival {
  readonly socket: Socket
  readonly address: string
  /** When the connection is dropped; null while it waits for TLS to begin. */
  dueMs: number | null
  /** True when it gets no answer; the refusal has been counted. */
  isHeld: boolean
  /** The number of bytes read from it, and the time of the last read. */
  bytesRead: number
  heardMs: number
  /** Listens for the end of the connection until it has become a session. */
  readonly onClose: () => void
}

/** How often the peers are listened to in the time for which they may be silent. Asking a socket what it has read takes a microsecond. */
const LISTENS = 20

export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { now, upgradeMs, answerMs, silentMs, beginTls, onRefused } = options
  const admission = new Admission<Arrival>(options.admission)
  const turns = admitByTurns(admission, { now, begin, refuse: ({ socket }) => refuse('busy', socket) })
  /** By remote address and port, which are the same for the raw socket and the TLS socket on top of it. */
  const arrivals = new Map<string, Arrival>()
  const handshakes = new Set<Arrival>()
  const input = new InputWatch()
  let listenedMs = -Infinity
  let timer: NodeJS.Timeout | null = null

  function refuse(why: 'busy' | 'late' | 'silent', socket: Socket): void {
    arrivals.delete(endpointOf(socket))
    onRefused(why, socket)
    socket.destroy()
  }

  function begin(arrival: Arrival): void {
    // The peer may have disconnected while it waited.
    if (arrival.socket.destroyed) return admission.leave(arrival.address)
    arrival.dueMs = now() + upgradeMs
    arrival.heardMs = now()
    handshakes.add(arrival)
    beginTls(arrival.socket)
  }

  function listen(nowMs: number): void {
    if (nowMs - listenedMs < silentMs / LISTENS) return
    listenedMs = nowMs
    for (const arrival of handshakes) hear(arrival, nowMs)
  }

  /** @returns True if the peer has sent something since the last call. */
  function hear(arrival: Arrival, nowMs: number): boolean {
    const { bytesRead } = arrival.socket
    if (bytesRead === arrival.bytesRead) return false
    arrival.bytesRead = bytesRead
    arrival.heardMs = nowMs
    return true
  }

  /** Frees as many places of silent peers as others need. */
  function evictSilent(): void {
    while (admission.lacksPlaces) {
      const first = findLongestSilent(handshakes)
      // Data that has arrived since then may still be unread.
      if (first === null || input.sinceMs - first.heardMs < silentMs) return
      if (hear(first, now())) continue
      refuse('silent', first.socket)
      leave(first)
    }
  }

  /** Continues to check while connections wait. */
  function lookAgain(): void {
    timer ??= setTimeout(() => {
      timer = null
      input.look(now())
      listen(now())
      turns.admit()
      evictSilent()
      if (arrivals.size > 0) lookAgain()
    }, options.lookMs)
  }

  function leave(arrival: Arrival | undefined): void {
    if (arrival === undefined || !handshakes.delete(arrival)) return
    admission.leave(arrival.address)
    if (admission.waiting > 0) turns.admit()
  }

  const isDue = ({ dueMs }: Arrival): boolean => dueMs !== null && now() > dueMs
  return {
    add(socket, address) {
      const endpoint = endpointOf(socket)
      if (arrivals.size === 0) input.begin(now())
      const arrival: Arrival = {
        ...{ socket, address, dueMs: null, isHeld: false, bytesRead: 0, heardMs: 0 },
        onClose() {
          if (arrivals.get(endpoint) === arrival) arrivals.delete(endpoint)
          leave(arrival)
        },
      }
      arrivals.set(endpoint, arrival)
      socket.on('close', arrival.onClose)
      admission.add(arrival, address, now())
      turns.admit()
      lookAgain()
    },
    shakenHands: (socket) => leave(arrivals.get(endpointOf(socket))),
    checkInTime(socket) {
      const arrival = arrivals.get(endpointOf(socket))
      if (arrival !== undefined && !isDue(arrival) && now() - input.sinceMs <= answerMs) return true
      refuse('late', socket)
      return false
    },
    remove(socket) {
      const arrival = arrivals.get(endpointOf(socket))
      if (arrival === undefined) return
      arrivals.delete(endpointOf(socket))
      leave(arrival)
      // Otherwise a session would keep all of this in memory.
      arrival.socket.off('close', arrival.onClose)
    },
    hold(socket) {
      const arrival = arrivals.get(endpointOf(socket))
      if (arrival === undefined) return
      arrival.isHeld = true
      arrival.dueMs = now() + answerMs
    },
    dropLate() {
      for (const arrival of arrivals.values()) {
        if (!isDue(arrival)) continue
        if (arrival.isHeld) arrival.socket.destroy()
        else refuse('late', arrival.socket)
      }
    },
    stop() {
      turns.stop()
      if (timer !== null) clearTimeout(timer)
      for (const { socket } of arrivals.values()) socket.destroy()
    },
  }
}

function findLongestSilent(handshakes: Iterable<Arrival>): Arrival | null {
  let first: Arrival | null = null
  for (const arrival of handshakes) if (first === null || arrival.heardMs < first.heardMs) first = arrival
  return first
}

function endpointOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
