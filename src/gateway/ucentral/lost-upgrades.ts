import { randomInt } from 'node:crypto'
import { MIN_COMMAND_CALL_ID } from '../commands/call-ids.ts'
import type { LinkHost } from '../protocol.ts'
import { type Reply, runsScripts, typeOf } from './driver.ts'
import type { Capabilities } from './messages.ts'
import { decodeTasks, encodeTaskQuery } from './scripts.ts'
import type { Session } from './session.ts'
import { STATE_CALL_ID, encodeStateRequest } from './telemetry.ts'

/**
 * Finds out whether devices that are back still execute the upgrades whose connections were lost. Neither stock client
 * answers this question, but both show it: a switch reports again and again while it upgrades, and an access point has a
 * file for each call that it has not completed.
 */
export interface LostUpgrades {
  /** Begins for a session whose `connect` is recorded. */
  begin(session: Session, capabilities: Capabilities): void
  /** The switch of the session reports that it is upgrading. */
  onProgress(session: Session): void
  /** The client of the switch has started: it does not report an upgrade that the former process began. */
  onStart(session: Session): void
  /** @returns True if the reply is the answer to a question of this session. */
  onReply(session: Session, id: number, reply: Reply): boolean
  /** Called at regular intervals, about every second. */
  look(): void
}

/** The ids of questions are below those of commands. An answer may be late, so two questions rarely have the same id. */
const FIRST_CALL_ID = 16

/**
 * A switch that is silent for this long upgrades nothing. Its client skips reports while its operating system does not answer,
 * which it awaits for 90 s, and sends none while the switch shuts down.
 */
const SILENT_MS = 180_000
/** While the gateway is busy it hears nothing, so it also has to have looked for messages this often. */
const SILENT_LOOKS = 10
/** Until the calls are listed again: the conclusion is recorded only once the device has reported its uptime. */
const LIST_AGAIN_MS = 3000
/** An access point answers within a few seconds. */
const ANSWER_MS = 60_000
/** The file of a call is never deleted if the client was killed. */
const MAX_LISTS = 20

interface Watched {
  readonly type: 'ap' | 'switch'
  /** The calls in question; null while they are looked up, or are to be looked up again. */
  callIds: readonly number[] | null
  isListing: boolean
  lists: number
  /** When this state began, or the device last reported progress. */
  sinceMs: number
  looks: number
  /** The id of the question in flight. */
  askedId: number | null
  hasRequestedState: boolean
}

export function createLostUpgrades(host: LinkHost): LostUpgrades {
  const watched = new Map<Session, Watched>()

  async function list(session: Session, state: Watched): Promise<void> {
    state.isListing = true
    const calls = await host.listLostCalls(session.deviceId)
    Object.assign(state, { isListing: false, callIds: calls.map(({ callId }) => callId), askedId: null })
    state.lists += 1
    restart(state)
    if (calls.length === 0 || state.lists > MAX_LISTS) watched.delete(session)
  }

  function restart(state: Watched): void {
    state.sinceMs = host.now()
    state.looks = 0
  }

  /** The conclusion needs the uptime, and the client may report it up to a minute after the connection. */
  function requestState(session: Session, state: Watched): void {
    state.hasRequestedState = true
    session.call(STATE_CALL_ID, encodeStateRequest(session.mac))
  }

  function ask(session: Session, state: Watched, callIds: readonly number[]): void {
    const id = randomInt(FIRST_CALL_ID, MIN_COMMAND_CALL_ID)
    state.askedId = id
    restart(state)
    session.call(id, encodeTaskQuery(session.mac, { ownId: id, callIds }))
  }

  function lookAt(session: Session, state: Watched): void {
    const elapsedMs = host.now() - state.sinceMs
    state.looks += 1
    if (state.callIds === null) {
      if (!state.isListing && elapsedMs >= LIST_AGAIN_MS) void list(session, state)
    } else if (state.type === 'ap') {
      // The next look asks for the calls: if that answer came first, the conclusion would wait for a further question.
      if (session.uptime !== 'reported' && !state.hasRequestedState) requestState(session, state)
      else if (state.askedId === null || elapsedMs >= ANSWER_MS) ask(session, state, state.callIds)
    } else if (elapsedMs >= SILENT_MS && state.looks >= SILENT_LOOKS) {
      host.onIdle(session)
      state.callIds = null
      restart(state)
    }
  }

  return {
    begin(session, capabilities) {
      const type = typeOf(capabilities)
      if (type === 'ap' && !runsScripts(capabilities)) return
      const unasked = { callIds: null, isListing: false, lists: 0, askedId: null, hasRequestedState: false }
      const state: Watched = { type, ...unasked, sinceMs: host.now(), looks: 0 }
      watched.set(session, state)
      void list(session, state)
    },
    onProgress(session) {
      const state = watched.get(session)
      if (state !== undefined) restart(state)
    },
    onStart: (session) => void watched.delete(session),
    onReply(session, id, { result }) {
      if (id === STATE_CALL_ID) return true
      const state = watched.get(session)
      if (state === undefined || state.askedId !== id) return false
      const running = decodeTasks(result, id)
      const isRunning = running?.some((callId) => state.callIds?.includes(callId) === true)
      if (running === null) watched.delete(session)
      else if (isRunning !== true) host.onIdle(session)
      Object.assign(state, { callIds: null, askedId: null })
      restart(state)
      return true
    },
    look() {
      for (const [session, state] of watched) {
        if (!session.isServed) watched.delete(session)
        // Messages that the device queued while it was offline come before that answer.
        else if (session.hasAnsweredTelemetry && !session.isPaused) lookAt(session, state)
      }
    },
  }
}
