import { findRefusal } from '../devices/commands/capabilities.ts'
import { recordCommandOutcomes, recordCommandsSent, recordCommandsUnsent } from '../devices/commands/record-commands.ts'
import { type CommandToSend, listUnansweredCommands } from '../devices/commands/store.ts'
import { supportUploadUrl } from '../devices/support/file-url.ts'
import { firmwareDownloadUrl } from '../firmware/download-url.ts'
import { findLostUpgrade } from '../firmware/store-lost-upgrades.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import type { CommandRows } from './command-rows.ts'
import type { DeviceLink, SendResult } from './device-link.ts'
import type { DriverCommand, SentCommand } from './driver.ts'

/** A download address must outlive the longest wait for its command. */
const URL_LIFE_MS = 1_900_000

export interface DeviceCommandOptions {
  readonly nodeId: string
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
}

/** The commands to devices. */
export function deviceCommands(
  ctx: Context,
  { nodeId, localCertificates }: DeviceCommandOptions,
): CommandRows<DeviceLink, CommandToSend, SentCommand> {
  return {
    wake: 'commands',
    claim: (limit) => recordCommandsSent(ctx, nodeId, limit),
    finish: (finished) => recordCommandOutcomes(ctx, finished),
    requeue: (commands) => recordCommandsUnsent(ctx, commands),
    listUnanswered: (calls) => listUnansweredCommands(ctx.db, calls),
    findUpgrade: (end) => findLostUpgrade(ctx.db, end),
    send(link, command): SendResult {
      const refusal = findRefusal(command.capabilities, command)
      if (refusal !== null) return { kind: 'rejected', code: 'unsupported', text: refusal, final: true }
      const order = orderOf(ctx, command, localCertificates)
      return link.send({ callId: command.callId, device: command, order })
    },
    sentOf: (command, lastStep) => ({ device: command, kind: command.kind, lastStep }),
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
