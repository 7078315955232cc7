import type { CommandOutcome } from '../../devices/commands/command.ts'
import type { Context } from '../../platform/context.ts'
import { startPoller } from '../../platform/time/poller.ts'
import type { CommandRows, RowOfCommand } from './command-rows.ts'
import { createCommandWrites } from './command-writes.ts'
import { startCommittedSender } from './committed-commands.ts'
import type { Decode, Link, LinkEvent, LinkProgress } from '../links/device-link.ts'
import type { Outcome, Rejection, UpgradeStep } from '../driver.ts'
import { createLateReplies } from './late-replies.ts'
import type { LinkRegistry } from '../links/link-registry.ts'

export interface DispatcherOptions<L extends Link, C extends RowOfCommand, S> {
  /** Names its worker in the log. */
  readonly name: string
  readonly rows: CommandRows<L, C, S>
  readonly links: LinkRegistry<L>
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** The interval of the search for commands without a wake. */
  readonly tickMs: number
  /** The number of commands that one transaction claims. */
  readonly batchSize: number
}

/** Sends queued commands to the devices that are connected here and writes the outcomes to the command rows. */
export interface Dispatcher<L extends Link, S> {
  /** Looks for commands to send, like wakes and the interval. */
  kick(): void
  /** Ends commands whose time limit has passed. */
  endLate(): void
  /** See LinkSide. */
  onReply(link: L, callId: number, decode: Decode<S>): Promise<boolean>
  /** See LinkSide. */
  onProgress(link: L, callId: number, step: LinkProgress): Promise<boolean>
  /** See LinkSide. */
  onEvent(link: L, event: LinkEvent<S>): Promise<void>
  /** Drops the link's command; the transaction that ends the session ends the command as well. */
  onClosed(link: L): void
  /**
   * Resolves when the steps and outcomes that devices have reported so far, and commands that were not sent, are written,
   * except locked commands. Never rejects.
   */
  flush(): Promise<void>
  /** True while a step or an outcome of the device, or the return of a command to its queue, is not written. */
  hasUnwritten(deviceId: string): boolean
  /** See LinkSide. */
  whenWritten(link: L): Promise<void>
  /** Resolves when no more commands are sent. Replies of devices are still handled. */
  stopSending(): Promise<void>
  /** Stops sending; resolves when all pending writes are done. */
  stop(): Promise<void>
}

/** A device whose connection is still open this long after it agreed to reboot may get commands again. */
const REBOOT_MS = 30_000

/** Links encode a command before they write to their socket, so the device has certainly received nothing of it. */
const notSendable: Rejection = {
  kind: 'rejected',
  code: 'not_sendable',
  text: 'The service could not encode or send the command; its log contains the error',
  final: true,
}

interface InFlight<L, C> {
  readonly command: C
  readonly link: L
  deadlineMs: number
  /** The step that the device reported last. */
  lastStep: UpgradeStep | null
}

/** Looks for commands from now on until `stop`. */
export function startDispatcher<L extends Link, C extends RowOfCommand, S>(
  ctx: Context,
  options: DispatcherOptions<L, C, S>,
): Dispatcher<L, S> {
  const { name, rows, links, now, tickMs, batchSize } = options
  /** By device id; a device has at most one command in flight, plus one diagnostic command. */
  const inFlight = new Map<string, InFlight<L, C>>()
  const diagnostics = new Map<string, InFlight<L, C>>()
  const all = [inFlight, diagnostics]
  /** The time until which devices get no command, by their ids: they have agreed to reboot and would lose it. */
  const rebooting = new Map<string, { readonly link: L; readonly untilMs: number }>()
  const writes = createCommandWrites(ctx, rows)
  const requeue = (command: RowOfCommand): void => writes.requeue(command)
  const lateReplies = createLateReplies(ctx, rows, batchSize)

  function release(command: C, reboots = false): void {
    // When a late reply ends an older command, the device may already have a newer one in flight.
    for (const each of all) {
      const entry = each.get(command.deviceId)
      if (entry?.command !== command) continue
      each.delete(command.deviceId)
      if (reboots) rebooting.set(command.deviceId, { link: entry.link, untilMs: now() + REBOOT_MS })
    }
  }

  function end(command: C, outcome: CommandOutcome): void {
    release(command, outcome.kind === 'done' && rows.isReboot?.(command) === true)
    const { orgId, id, deviceId, callId } = command
    writes.finish(deviceId, { orgId, id, callId, outcome })
  }

  function send(command: C): void {
    const link = links.find(command.deviceId)
    const own = rows.isDiagnostic?.(command) === true ? diagnostics : inFlight
    if (link?.epoch !== command.epoch) return requeue(command)
    // A claim and a command that is committed as sent, both at the same time, don't see each other.
    if (own.get(command.deviceId)?.link === link) return requeue(command)
    const sent = rows.send(link, command)
    if (sent.kind === 'rejected') return end(command, sent)
    if (sent.kind === 'unsent') return requeue(command)
    const { deviceId, id } = command
    // The benchmark of agents reads when.
    ctx.log.debug({ deviceId, commandId: id }, 'sent a command')
    // A device that does one thing at a time begins when its diagnostic command has ended.
    const startMs = Math.max(now(), diagnostics.get(deviceId)?.deadlineMs ?? 0)
    own.set(deviceId, { command, link, deadlineMs: startMs + sent.timeoutMs, lastStep: null })
  }

  /** Ends a command whose sending throws: the others of its batch must be sent. */
  function sendOrReject(command: C): void {
    try {
      send(command)
    } catch (error) {
      const { deviceId, id: commandId } = command
      ctx.log.error({ err: error, deviceId, commandId }, 'could not send a command; it is rejected')
      end(command, notSendable)
    }
  }

  function isRebooting({ deviceId }: C): boolean {
    const { untilMs = 0 } = rebooting.get(deviceId) ?? {}
    return now() < untilMs
  }

  function settle(command: C, outcome: Outcome | null): void {
    if (outcome === null || outcome.kind === 'accepted') return
    if (outcome.kind === 'returning') release(command)
    else end(command, outcome)
  }

  /** A device replies on its current connection, perhaps not that of the call, so only the id identifies the call. */
  async function onReply(link: L, callId: number, decode: Decode<S>): Promise<boolean> {
    const { deviceId } = link
    // A different box with the same certificate may use a link that has been replaced.
    if (links.find(deviceId) !== link) return false
    const entries = all.map((each) => each.get(deviceId))
    const waiting = entries.find((entry) => entry?.command.callId === callId)
    const command = waiting?.command ?? (await lateReplies.findCommand({ deviceId, callId }))
    if (command === null) return false
    settle(command, decode(rows.sentOf(command, waiting?.lastStep ?? null)))
    return true
  }

  /** If the event does not concern the command in flight, it may end an upgrade whose connection was lost. */
  async function onEvent(link: L, { decode, upgradeEndS }: LinkEvent<S>): Promise<void> {
    const { deviceId } = link
    const entry = inFlight.get(deviceId)
    if (entry?.link === link) {
      const { command, lastStep } = entry
      const outcome = decode(rows.sentOf(command, lastStep))
      if (outcome?.kind === 'accepted') entry.lastStep = outcome.step ?? lastStep
      if (outcome !== null) return settle(command, outcome)
    }
    if (links.find(deviceId) !== link || upgradeEndS === null) return
    const command = await lateReplies.findUpgrade({ deviceId, atS: upgradeEndS })
    if (command !== null) settle(command, decode(rows.sentOf(command, 'install')))
  }

  const committed =
    rows.committed &&
    startCommittedSender<C>(ctx, {
      committed: rows.committed,
      now,
      isBusy: (deviceId) => inFlight.has(deviceId) || writes.isPending(deviceId),
      send: (command) => (isRebooting(command) ? requeue(command) : sendOrReject(command)),
      requeue,
    })
  const sender = startPoller({
    name,
    ctx,
    wake: rows.wake,
    intervalMs: tickMs,
    maxBackoffMs: tickMs,
    async work() {
      for (const [deviceId, { untilMs }] of rebooting) if (now() >= untilMs) rebooting.delete(deviceId)
      await committed?.lookUp()
      const commands = await rows.claim(batchSize, [...rebooting.keys()], requeue)
      for (const command of commands) sendOrReject(command)
      return commands.length === batchSize
    },
  })
  return {
    kick: () => sender.wake(),
    endLate() {
      const nowMs = now()
      for (const { command, deadlineMs } of all.flatMap((each) => [...each.values()])) {
        if (nowMs >= deadlineMs) end(command, { kind: 'unknown', why: 'timeout' })
      }
    },
    onReply,
    onEvent,
    async onProgress(link, callId, { progress: reached, timeoutMs }) {
      const entry = inFlight.get(link.deviceId)
      if (entry?.link !== link || entry.command.callId !== callId) return false
      entry.deadlineMs = now() + timeoutMs
      const { orgId, id } = entry.command
      const step = { orgId, id, callId, progress: reached, progressMs: ctx.serviceClock.nowMs() }
      return (await writes.advance(link.deviceId, step)) && inFlight.get(link.deviceId) === entry
    },
    onClosed(link) {
      for (const each of [...all, rebooting]) if (each.get(link.deviceId)?.link === link) each.delete(link.deviceId)
    },
    flush: () => writes.flush(),
    hasUnwritten: (deviceId) => writes.isPending(deviceId),
    whenWritten: ({ deviceId }) => writes.idle(deviceId),
    stopSending: async () => void (await Promise.all([sender.stop(), committed?.stopSending()])),
    async stop() {
      await Promise.all([sender.stop(), committed?.stop(), lateReplies.idle()])
      await writes.stop()
    },
  }
}
