import type { Socket } from 'node:net'
import { Admission, type AdmissionLimits } from './admission.ts'
import { InputWatch } from './input-watch.ts'

/**
 * Holds connections that are not sessions yet. They first wait unread for their turn; clients allow 30 s for TLS. Then
 * each one has a deadline, because its peer has proved little. An access point gives up 5 s after its upgrade request:
 * after a later answer it does not connect again until its watchdog restarts it after 5 minutes.
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
  /** How long a peer may stay silent once TLS has begun, while others wait for its place. */
  readonly silenceMs: number
  /** From the beginning of TLS to the upgrade request. */
  readonly upgradeMs: number
  /** From the arrival of the request to its answer. */
  readonly answerMs: number
  /** How often waiting connections are checked. */
  readonly lookMs: number
}

export interface ArrivalsOptions extends ArrivalTimes {
  readonly admission: AdmissionLimits
  readonly now: () => number
  /** Called when the connection's turn has come. */
  readonly beginTls: (socket: Socket) => void
  readonly onRefused: (why: 'busy' | 'late', socket: Socket) => void
}

interface Arrival {
  readonly socket: Socket
  readonly address: string
  /** When TLS began, and how many bytes of other things had been read; null before. */
  begun: { readonly atMs: number; readonly bytes: number } | null
  /** When the connection is dropped; null while it waits for TLS to begin. */
  dueMs: number | null
  /** True while it occupies a place among the handshakes. */
  isShakingHands: boolean
  /** True when it gets no answer; the refusal has been counted. */
  isHeld: boolean
}

export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { now, silenceMs, upgradeMs, answerMs, beginTls, onRefused } = options
  const admission = new Admission<Arrival>(options.admission)
  /** By remote address and port, which are the same for the raw socket and the TLS socket on top of it. */
  const arrivals = new Map<string, Arrival>()
  const input = new InputWatch()
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function refuse(why: 'busy' | 'late', socket: Socket): void {
    arrivals.delete(endpointOf(socket))
    onRefused(why, socket)
    socket.destroy()
  }

  function begin(arrival: Arrival): void {
    // The peer may have disconnected while it waited.
    if (arrival.socket.destroyed) return admission.leave(arrival.address)
    const atMs = now()
    const { bytesRead, readableLength } = arrival.socket
    arrival.begun = { atMs, bytes: bytesRead - readableLength }
    arrival.dueMs = atMs + upgradeMs
    arrival.isShakingHands = true
    beginTls(arrival.socket)
  }

  function admit(): void {
    if (isStopped) return
    const { entered, refused } = admission.decide(now())
    for (const { socket } of refused) refuse('busy', socket)
    for (const arrival of entered) begin(arrival)
    const silent = admission.isFull ? longestSilent() : undefined
    if (silent === undefined) return
    refuse('late', silent.socket)
    leave(silent)
  }

  /** Finds the connection that has been silent for longest, and for too long, since TLS began on it. */
  function longestSilent(): Arrival | undefined {
    let longest: Arrival | undefined
    for (const arrival of arrivals.values()) {
      const { socket, begun, isShakingHands } = arrival
      if (!isShakingHands || begun === null || socket.bytesRead > begun.bytes) continue
      // What arrived later may not have been read yet.
      if (input.sinceMs - begun.atMs < silenceMs) continue
      if (longest?.begun == null || begun.atMs < longest.begun.atMs) longest = arrival
    }
    return longest
  }

  /** Continues to check while connections wait. */
  function lookAgain(): void {
    timer ??= setTimeout(() => {
      timer = null
      input.look(now())
      admit()
      if (arrivals.size > 0) lookAgain()
    }, options.lookMs)
  }

  function leave(arrival: Arrival | undefined): void {
    if (arrival?.isShakingHands !== true) return
    arrival.isShakingHands = false
    admission.leave(arrival.address)
    if (admission.waiting > 0) admit()
  }

  const isDue = ({ dueMs }: Arrival): boolean => dueMs !== null && now() > dueMs
  return {
    add(socket, address) {
      const endpoint = endpointOf(socket)
      if (arrivals.size === 0) input.begin(now())
      const arrival: Arrival = { socket, address, begun: null, dueMs: null, isShakingHands: false, isHeld: false }
      arrivals.set(endpoint, arrival)
      socket.once('close', () => {
        if (arrivals.get(endpoint) === arrival) arrivals.delete(endpoint)
        leave(arrival)
      })
      admission.add(arrival, address, now())
      admit()
      lookAgain()
    },
    shakenHands: (socket) => leave(arrivals.get(endpointOf(socket))),
    checkInTime(socket) {
      const arrival = arrivals.get(endpointOf(socket))
      if (arrival !== undefined && !isDue(arrival) && now() - input.sinceMs <= answerMs) return true
      refuse('late', socket)
      return false
    },
    remove: (socket) => void arrivals.delete(endpointOf(socket)),
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
      isStopped = true
      if (timer !== null) clearTimeout(timer)
      for (const { socket } of arrivals.values()) socket.destroy()
    },
  }
}

function endpointOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
