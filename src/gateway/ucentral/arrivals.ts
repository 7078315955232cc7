import type { Socket } from 'node:net'
import { Admission, type AdmissionLimits } from '../admission.ts'

/**
 * Connections that are no sessions yet. First they wait, unread, for their turn: clients allow 30 s for TLS. Then each
 * has a deadline: its peer has proved little, and an access point gives up 5 s after its upgrade request. If it is
 * answered later than that, it does not connect again until its watchdog restarts it after 5 minutes. When it sent the
 * request is not known, but it was after TLS had begun.
 */
export interface Arrivals {
  add(socket: Socket, address: string): void
  /** TLS is up: another handshake may begin. */
  shakenHands(socket: Socket): void
  /** Its upgrade request is here. False, and the connection is destroyed, when the answer would come too late. */
  checkInTime(socket: Socket): boolean
  /** It is a session now. */
  remove(socket: Socket): void
  /** It is refused by leaving it unanswered until its deadline: an instant refusal invites an instant retry. */
  hold(socket: Socket): void
  /** Destroys those that are past their deadline. */
  dropLate(): void
  /** Destroys all, and takes no more. */
  stop(): void
}

export interface ArrivalsOptions {
  readonly admission: AdmissionLimits
  readonly now: () => number
  /** From the beginning of TLS to the answer to the upgrade request. */
  readonly upgradeMs: number
  /** Its turn has come. */
  readonly beginTls: (socket: Socket) => void
  readonly onRefused: (why: 'busy' | 'late', socket: Socket) => void
}

interface Arrival {
  readonly socket: Socket
  readonly address: string
  /** When TLS began; null while it waits for that. */
  startedMs: number | null
  /** It has a place among the handshakes. */
  isShakingHands: boolean
  /** It will get no answer, and that has been counted. */
  isHeld: boolean
}

/** How often those that wait are looked at. */
const LOOK_MS = 10

export function createArrivals(options: ArrivalsOptions): Arrivals {
  const { now, upgradeMs, beginTls, onRefused } = options
  const admission = new Admission<Arrival>(options.admission)
  /** By remote address and port, which the raw socket and the TLS socket on top of it share. */
  const arrivals = new Map<string, Arrival>()
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function refuse(why: 'busy' | 'late', socket: Socket): void {
    arrivals.delete(endpointOf(socket))
    onRefused(why, socket)
    socket.destroy()
  }

  function begin(arrival: Arrival): void {
    // It may have gone while it waited.
    if (arrival.socket.destroyed) return admission.leave(arrival.address)
    arrival.startedMs = now()
    arrival.isShakingHands = true
    beginTls(arrival.socket)
  }

  function look(): void {
    if (isStopped) return
    const { entered, refused } = admission.decide(now())
    for (const { socket } of refused) refuse('busy', socket)
    for (const arrival of entered) begin(arrival)
    if (admission.waiting === 0) return
    timer ??= setTimeout(() => {
      timer = null
      look()
    }, LOOK_MS)
  }

  function leave(arrival: Arrival | undefined): void {
    if (arrival?.isShakingHands !== true) return
    arrival.isShakingHands = false
    admission.leave(arrival.address)
    if (admission.waiting > 0) look()
  }

  const isLate = ({ startedMs }: Arrival): boolean => startedMs !== null && now() - startedMs > upgradeMs
  return {
    add(socket, address) {
      const endpoint = endpointOf(socket)
      const arrival: Arrival = { socket, address, startedMs: null, isShakingHands: false, isHeld: false }
      arrivals.set(endpoint, arrival)
      socket.once('close', () => {
        if (arrivals.get(endpoint) === arrival) arrivals.delete(endpoint)
        leave(arrival)
      })
      admission.add(arrival, address, now())
      look()
    },
    shakenHands: (socket) => leave(arrivals.get(endpointOf(socket))),
    checkInTime(socket) {
      const arrival = arrivals.get(endpointOf(socket))
      if (arrival !== undefined && !isLate(arrival)) return true
      refuse('late', socket)
      return false
    },
    remove: (socket) => void arrivals.delete(endpointOf(socket)),
    hold(socket) {
      const arrival = arrivals.get(endpointOf(socket))
      if (arrival !== undefined) arrival.isHeld = true
    },
    dropLate() {
      for (const arrival of arrivals.values()) {
        if (!isLate(arrival)) continue
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
