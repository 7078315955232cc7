import type { Socket } from 'node:net'
import { Admission, type AdmissionLimits } from '../admission/admission.ts'
import { admitByTurns } from '../admission/admit-by-turns.ts'
import { InputWatch } from '../admission/input-watch.ts'

/**
 * Tracks connections whose devices have not identified themselves. They first wait unread for their turn, because each
 * handshake costs time and memory before the device has proved anything. Then each one has a deadline. While others
 * wait for a place, the connection that has been without SSH for longest is closed.
 */
export interface Callers {
  add(socket: Socket, address: string): void
  /** Extends the deadline of a connection on which SSH has begun, until the device has identified itself. */
  extend(socket: Socket): void
  /** Frees the place of a connection that has become a link, or has ended. */
  leave(socket: Socket): void
  /** Destroys the connections that are past their deadline. */
  dropLate(): void
  /** Destroys all connections and accepts no more. */
  stop(): void
}

export interface CallersOptions {
  readonly admission: AdmissionLimits
  readonly now: () => number
  readonly lookMs: number
  /** The time limits of a connection, from its turn: until SSH begins, and until it is a link. */
  readonly preambleMs: number
  readonly helloMs: number
  /** How long a connection may be without SSH while others wait for its place. */
  readonly silentMs: number
  /** Called when the connection's turn has come. */
  readonly begin: (socket: Socket, address: string) => void
  readonly onRefused: (why: 'busy' | 'late' | 'silent', address: string) => void
}

interface Caller {
  readonly socket: Socket
  readonly address: string
  /** Null while the connection waits for its turn. */
  dueMs: number | null
  /** When its turn came; null before, and once SSH has begun. */
  silentSinceMs: number | null
}

export function createCallers(options: CallersOptions): Callers {
  const { now, lookMs, preambleMs, helloMs, silentMs, onRefused } = options
  const admission = new Admission<Caller>(options.admission)
  const turns = admitByTurns(admission, { now, begin, refuse: (caller) => refuse('busy', caller) })
  const callers = new Map<Socket, Caller>()
  const input = new InputWatch()
  let timer: NodeJS.Timeout | null = null
  let isStopped = false

  function remove(caller: Caller): void {
    if (!callers.delete(caller.socket) || caller.dueMs === null) return
    admission.leave(caller.address)
    if (admission.waiting > 0) turns.admit()
  }

  function refuse(why: 'busy' | 'late' | 'silent', caller: Caller): void {
    onRefused(why, caller.address)
    caller.socket.destroy()
  }

  function begin(caller: Caller): void {
    // The device may have left while it waited.
    if (!callers.has(caller.socket)) return admission.leave(caller.address)
    caller.silentSinceMs = now()
    caller.dueMs = now() + preambleMs
    options.begin(caller.socket, caller.address)
  }

  /** Frees as many places of silent devices as others need. */
  function evictSilent(): void {
    while (admission.lacksPlaces) {
      // In the order of their arrival, which is also that of their turns.
      const first = [...callers.values()].find(({ silentSinceMs }) => silentSinceMs !== null)
      // Data that has arrived since then may still be unread.
      if (first === undefined || input.sinceMs - (first.silentSinceMs ?? 0) < silentMs) return
      refuse('silent', first)
      remove(first)
    }
  }

  function lookAgain(): void {
    if (timer !== null || isStopped) return
    timer = setTimeout(() => {
      timer = null
      input.look(now())
      turns.admit()
      evictSilent()
      if (admission.waiting > 0) lookAgain()
    }, lookMs)
  }

  return {
    add(socket, address) {
      const caller: Caller = { socket, address, dueMs: null, silentSinceMs: null }
      callers.set(socket, caller)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => remove(caller))
      admission.add(caller, address, now())
      turns.admit()
      if (admission.waiting === 0) return
      if (timer === null) input.begin(now())
      lookAgain()
    },
    extend(socket) {
      const caller = callers.get(socket)
      if (caller?.dueMs == null) return
      caller.dueMs += helloMs - preambleMs
      caller.silentSinceMs = null
    },
    leave(socket) {
      const caller = callers.get(socket)
      if (caller !== undefined) remove(caller)
    },
    dropLate() {
      const nowMs = now()
      for (const caller of callers.values()) if (caller.dueMs !== null && nowMs >= caller.dueMs) refuse('late', caller)
    },
    stop() {
      isStopped = true
      turns.stop()
      if (timer !== null) clearTimeout(timer)
      for (const { socket } of callers.values()) socket.destroy()
    },
  }
}
