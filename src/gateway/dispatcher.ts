import { recordCommandOutcomes, recordCommandsSent, recordCommandsUnsent } from '../devices/commands/record-commands.ts'
import type { CommandOutcome } from '../devices/commands/command.ts'
import type { CommandToSend, FinishedCommand } from '../devices/commands/store.ts'
import { firmwareDownloadUrl } from '../firmware/download-url.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import type { DeviceEvent, Driver, DriverCommand, Outcome, Reply, UpgradeStep } from './driver.ts'
import { createJournal } from './journal.ts'
import { createLateReplies } from './late-replies.ts'
import type { SessionRegistry } from './session-registry.ts'
import type { Session } from './ucentral/session.ts'

/** A download address must outlive the longest wait for its command. */
const URL_LIFE_MS = 1_900_000

export interface DispatcherOptions {
  readonly nodeId: string
  readonly driver: Driver
  readonly sessions: SessionRegistry
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** How many commands one transaction claims. */
  readonly batchSize: number
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
}

/** Sends queued commands to the devices that are connected here and writes the outcomes to the command rows. */
export interface Dispatcher {
  /** Looks for commands to send. */
  kick(): void
  /** Ends commands whose time is over and retries failed writes of outcomes. */
  tick(): Promise<void>
  /** Resolves with false when no command waits for a reply to the call `id`. Never rejects. */
  onReply(session: Session, id: number, reply: Reply): Promise<boolean>
  /** Never rejects. */
  onEvent(session: Session, event: DeviceEvent): Promise<void>
  /** Drops the session's command; the transaction that ends the session ends the command as well. */
  onClosed(session: Session): void
  /** Stops sending; resolves when all pending writes are done. */
  stop(): Promise<void>
}

interface InFlight {
  readonly command: CommandToSend
  readonly session: Session
  readonly deadlineMs: number
  /** The step that the device reported last. */
  lastStep: UpgradeStep | null
}

export function createDispatcher(ctx: Context, options: DispatcherOptions): Dispatcher {
  const { nodeId, driver, sessions, now, batchSize, localCertificates } = options
  /** By device id; a device has at most one command in flight. */
  const inFlight = new Map<string, InFlight>()
  const outcomes = createJournal<FinishedCommand>((items) => recordCommandOutcomes(ctx, items), ctx.log)
  const unsent = createJournal<CommandToSend>((items) => recordCommandsUnsent(ctx, items), ctx.log)
  const lateReplies = createLateReplies(ctx, batchSize)
  let wanted = false
  let running: Promise<void> | null = null
  let stopped = false

  function end(command: CommandToSend, outcome: CommandOutcome): void {
    // When a late reply ends an older command, the device may already have a newer one in flight.
    if (inFlight.get(command.deviceId)?.command === command) inFlight.delete(command.deviceId)
    outcomes.add({ orgId: command.orgId, id: command.id, callId: command.callId, outcome })
  }

  function send(command: CommandToSend): void {
    const session = sessions.find(command.deviceId)
    if (session?.epoch !== command.epoch) return unsent.add(command)
    const encoded = driver.encode(command, orderOf(ctx, command, localCertificates))
    if (encoded.kind === 'rejected') return end(command, encoded)
    if (!session.send(command.callId, encoded.call)) return unsent.add(command)
    const deadlineMs = now() + encoded.timeoutMs
    inFlight.set(command.deviceId, { command, session, deadlineMs, lastStep: null })
  }

  async function drain(): Promise<void> {
    try {
      while (wanted) {
        wanted = false
        const commands = await recordCommandsSent(ctx, nodeId, batchSize)
        for (const command of commands) send(command)
        if (commands.length === batchSize) wanted = !stopped
      }
    } catch (error) {
      ctx.log.warn({ err: error }, 'could not claim commands; trying again')
    } finally {
      running = null
    }
  }

  function settle(command: CommandToSend, outcome: Outcome | null): void {
    if (outcome !== null && outcome.kind !== 'accepted') end(command, outcome)
  }

  /** A device replies on its current connection, perhaps not that of the call, so only the id identifies the call. */
  async function onReply(session: Session, callId: number, reply: Reply): Promise<boolean> {
    const { deviceId } = session
    // A different box with the same certificate may use a session that has been replaced.
    if (sessions.find(deviceId) !== session) return false
    const entry = inFlight.get(deviceId)
    const isWaitedFor = entry?.command.callId === callId
    const command = isWaitedFor ? entry.command : await lateReplies.findCommand({ deviceId, callId })
    if (command === null) return false
    settle(command, driver.decodeReply(command, command.kind, reply))
    return true
  }

  /** Where no upgrade is in flight on the session, one may be whose connection was lost. */
  async function onEvent(session: Session, event: DeviceEvent): Promise<void> {
    const { deviceId } = session
    const entry = inFlight.get(deviceId)
    if (entry?.session === session && entry.command.kind === 'upgrade') {
      const { command, lastStep } = entry
      const outcome = driver.decodeEvent(command, command.kind, { ...event, lastStep })
      if (outcome?.kind === 'accepted') entry.lastStep = outcome.step ?? lastStep
      return settle(command, outcome)
    }
    if (sessions.find(deviceId) !== session || !driver.endsUpgrade(event)) return
    const command = await lateReplies.findUpgrade({ deviceId, atS: event.atS })
    if (command !== null) settle(command, driver.decodeEvent(command, command.kind, { ...event, lastStep: 'install' }))
  }

  return {
    kick() {
      if (stopped) return
      wanted = true
      running ??= drain()
    },
    async tick() {
      const nowMs = now()
      for (const { command, deadlineMs } of inFlight.values()) {
        if (nowMs >= deadlineMs) end(command, { kind: 'unknown', why: 'timeout' })
      }
      await Promise.all([outcomes.flush(), unsent.flush()])
    },
    onReply,
    onEvent,
    onClosed(session) {
      if (inFlight.get(session.deviceId)?.session === session) inFlight.delete(session.deviceId)
    },
    async stop() {
      stopped = true
      wanted = false
      await Promise.all([running, lateReplies.idle()])
      await Promise.all([outcomes.flush(), unsent.flush()])
    },
  }
}

function orderOf(ctx: Context, command: CommandToSend, localCertificates: boolean): DriverCommand {
  if (command.kind === 'restart') return { kind: 'restart', ...command.params }
  if (command.kind !== 'upgrade') return { kind: command.kind }
  const ticket = { orgId: command.orgId, commandId: command.id, imageId: command.params.image_id }
  const uri = firmwareDownloadUrl(ctx, ticket, addMs(ctx.clock.now(), URL_LIFE_MS))
  return { kind: 'upgrade', uri, localCertificates }
}
