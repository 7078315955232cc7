import { findRefusal } from '../devices/commands/capabilities.ts'
import { recordCommandOutcomes, recordCommandsSent, recordCommandsUnsent } from '../devices/commands/record-commands.ts'
import type { CommandOutcome } from '../devices/commands/command.ts'
import type { CommandToSend, FinishedCommand } from '../devices/commands/store.ts'
import { supportUploadUrl } from '../devices/support/file-url.ts'
import { firmwareDownloadUrl } from '../firmware/download-url.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import { startPoller } from '../platform/poller.ts'
import type { Decode, DeviceLink, LinkEvent } from './device-link.ts'
import type { DriverCommand, Outcome, UpgradeStep } from './driver.ts'
import { gatherFacts } from './facts.ts'
import { createLateReplies } from './late-replies.ts'
import type { LinkRegistry } from './link-registry.ts'

/** A download address must outlive the longest wait for its command. */
const URL_LIFE_MS = 1_900_000

export interface DispatcherOptions {
  readonly nodeId: string
  readonly links: LinkRegistry
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** How often it looks for commands without a wake. */
  readonly tickMs: number
  /** How many commands one transaction claims. */
  readonly batchSize: number
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
}

/** Sends queued commands to the devices that are connected here and writes the outcomes to the command rows. */
export interface Dispatcher {
  /** Looks for commands to send, like wakes and the interval. */
  kick(): void
  /** Ends commands whose time limit has passed. */
  endLate(): void
  /** See LinkHost. */
  onReply(link: DeviceLink, callId: number, decode: Decode): Promise<boolean>
  /** See LinkHost. */
  onEvent(link: DeviceLink, event: LinkEvent): Promise<void>
  /** Drops the link's command; the transaction that ends the session ends the command as well. */
  onClosed(link: DeviceLink): void
  /** Resolves when the outcomes that devices have reported so far are written. Never rejects. */
  flushOutcomes(): Promise<void>
  /** Resolves when no more commands are sent. Replies of devices are still handled. */
  stopSending(): Promise<void>
  /** Stops sending; resolves when all pending writes are done. */
  stop(): Promise<void>
}

interface InFlight {
  readonly command: CommandToSend
  readonly link: DeviceLink
  readonly deadlineMs: number
  /** The step that the device reported last. */
  lastStep: UpgradeStep | null
}

/** Looks for commands from now on until `stop`. */
export function startDispatcher(ctx: Context, options: DispatcherOptions): Dispatcher {
  const { nodeId, links, now, tickMs, batchSize, localCertificates } = options
  /** By device id; a device has at most one command in flight. */
  const inFlight = new Map<string, InFlight>()
  const outcomes = gatherFacts<FinishedCommand>(ctx, {
    name: 'outcomes of commands',
    write: (items) => recordCommandOutcomes(ctx, items),
    bytesOf: ({ outcome }) => ('text' in outcome ? (outcome.text?.length ?? 0) : 0),
    idOf: ({ orgId, id: commandId }) => ({ orgId, commandId }),
  })
  const unsent = gatherFacts<CommandToSend>(ctx, {
    name: 'commands that were not sent',
    write: (items) => recordCommandsUnsent(ctx, items),
    idOf: ({ orgId, id: commandId }) => ({ orgId, commandId }),
  })
  const lateReplies = createLateReplies(ctx, batchSize)

  function end(command: CommandToSend, outcome: CommandOutcome): void {
    // When a late reply ends an older command, the device may already have a newer one in flight.
    if (inFlight.get(command.deviceId)?.command === command) inFlight.delete(command.deviceId)
    void outcomes.add({ orgId: command.orgId, id: command.id, callId: command.callId, outcome })
  }

  function send(command: CommandToSend): void {
    const link = links.find(command.deviceId)
    if (link?.epoch !== command.epoch) return void unsent.add(command)
    const refusal = findRefusal(command.capabilities, command)
    if (refusal !== null) return end(command, { kind: 'rejected', code: 'unsupported', text: refusal, final: true })
    const order = orderOf(ctx, command, localCertificates)
    const sent = link.send({ callId: command.callId, device: command, order })
    if (sent.kind === 'rejected') return end(command, sent)
    if (sent.kind === 'unsent') return void unsent.add(command)
    inFlight.set(command.deviceId, { command, link, deadlineMs: now() + sent.timeoutMs, lastStep: null })
  }

  function settle(command: CommandToSend, outcome: Outcome | null): void {
    if (outcome !== null && outcome.kind !== 'accepted') end(command, outcome)
  }

  /** A device replies on its current connection, perhaps not that of the call, so only the id identifies the call. */
  async function onReply(link: DeviceLink, callId: number, decode: Decode): Promise<boolean> {
    const { deviceId } = link
    // A different box with the same certificate may use a link that has been replaced.
    if (links.find(deviceId) !== link) return false
    const entry = inFlight.get(deviceId)
    const isWaitedFor = entry?.command.callId === callId
    const command = isWaitedFor ? entry.command : await lateReplies.findCommand({ deviceId, callId })
    if (command === null) return false
    const lastStep = isWaitedFor ? entry.lastStep : null
    settle(command, decode({ device: command, kind: command.kind, lastStep }))
    return true
  }

  /** If the event does not concern the command in flight, it may end an upgrade whose connection was lost. */
  async function onEvent(link: DeviceLink, { decode, upgradeEndS }: LinkEvent): Promise<void> {
    const { deviceId } = link
    const entry = inFlight.get(deviceId)
    if (entry?.link === link) {
      const { command, lastStep } = entry
      const outcome = decode({ device: command, kind: command.kind, lastStep })
      if (outcome?.kind === 'accepted') entry.lastStep = outcome.step ?? lastStep
      if (outcome !== null) return settle(command, outcome)
    }
    if (links.find(deviceId) !== link || upgradeEndS === null) return
    const command = await lateReplies.findUpgrade({ deviceId, atS: upgradeEndS })
    if (command !== null) settle(command, decode({ device: command, kind: command.kind, lastStep: 'install' }))
  }

  const sender = startPoller({
    name: 'gateway-commands',
    ctx,
    wake: 'commands',
    intervalMs: tickMs,
    maxBackoffMs: tickMs,
    async work() {
      const commands = await recordCommandsSent(ctx, nodeId, batchSize)
      for (const command of commands) send(command)
      return commands.length === batchSize
    },
  })
  return {
    kick: () => sender.wake(),
    endLate() {
      const nowMs = now()
      for (const { command, deadlineMs } of inFlight.values()) {
        if (nowMs >= deadlineMs) end(command, { kind: 'unknown', why: 'timeout' })
      }
    },
    onReply,
    onEvent,
    onClosed(link) {
      if (inFlight.get(link.deviceId)?.link === link) inFlight.delete(link.deviceId)
    },
    flushOutcomes: () => outcomes.flush(),
    stopSending: () => sender.stop(),
    async stop() {
      await Promise.all([sender.stop(), lateReplies.idle()])
      await Promise.all([outcomes.stop(), unsent.stop()])
    },
  }
}

function orderOf(ctx: Context, command: CommandToSend, localCertificates: boolean): DriverCommand {
  switch (command.kind) {
    case 'restart':
      return { kind: 'restart', ...command.params }
    case 'locate': {
      const { duration_s: durationS } = command.params
      return { kind: 'locate', ...(durationS !== undefined && { durationS }) }
    }
    case 'upgrade':
    case 'stage': {
      const ticket = { orgId: command.orgId, commandId: command.id, imageId: command.params.image_id }
      const uri = firmwareDownloadUrl(ctx, ticket, addMs(ctx.clock.now(), URL_LIFE_MS))
      return { kind: command.kind, uri, localCertificates }
    }
    case 'ping': {
      const { egress_interface: egressInterface, ...params } = command.params
      return { kind: 'ping', ...params, ...(egressInterface !== undefined && { egressInterface }) }
    }
    case 'support': {
      const uri = supportUploadUrl(ctx, { orgId: command.orgId, commandId: command.id })
      return { kind: 'support', uri, localCertificates }
    }
    case 'activate':
    case 'unlocate':
      return { kind: command.kind }
  }
}
