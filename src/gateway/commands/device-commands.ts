import { isDiagnostic, isReboot } from '../../devices/commands/command.ts'
import { findRefusal } from '../../devices/commands/capabilities.ts'
import {
  recordCommandProgress,
  recordCommandsSent,
  recordCommandsUnsent,
  recordUnlockedOutcomes,
} from '../../devices/commands/record-commands.ts'
import { type CommandToSend, isCommandToSend, listUnansweredCommands } from '../../devices/commands/store.ts'
import { listUpgradesInFlight } from '../../devices/commands/store-upgrade-commands.ts'
import { supportUploadUrl } from '../../devices/support/file-url.ts'
import { findLostUpgrade } from '../../firmware/store-lost-upgrades.ts'
import type { Context } from '../../platform/context.ts'
import { type WithImage, addImages, artifactOf, imageDeleted } from './artifacts.ts'
import type { CommandRows } from './command-rows.ts'
import type { DeviceLink, SendResult } from '../links/device-link.ts'
import type { DriverCommand, SentCommand } from '../driver.ts'

/** A download address must outlive the longest wait for its command. */
const URL_LIFE_MS = 2_600_000

export interface DeviceCommandOptions {
  readonly nodeId: string
  /** True when the device CA signed the certificate of the HTTPS server that devices download from. */
  readonly localCertificates: boolean
}

export type DeviceCommand = WithImage<CommandToSend>

/** The commands to devices. */
export function deviceCommands(
  ctx: Context,
  { nodeId, localCertificates }: DeviceCommandOptions,
): CommandRows<DeviceLink, DeviceCommand, SentCommand> {
  return {
    wake: 'commands',
    async claim(limit, rebooting, requeue) {
      const commands = await recordCommandsSent(ctx, nodeId, { limit, rebooting })
      try {
        return await addImages(ctx, commands)
      } catch (error) {
        for (const command of commands) requeue(command)
        throw error
      }
    },
    committed: {
      wake: 'sent_commands',
      commandsOf: (woken) => woken.filter(isCommandToSend),
      complete: (commands) => addImages(ctx, commands),
      list: (deviceIds) => listUpgradesInFlight(ctx.keyDb, deviceIds),
    },
    advance: (advanced, isRepeated) => recordCommandProgress(ctx, advanced, isRepeated),
    finish: (finished, isRepeated) => recordUnlockedOutcomes(ctx, finished, isRepeated),
    requeue: (commands, isRepeated) => recordCommandsUnsent(ctx, commands, isRepeated),
    listUnanswered: (calls) => listUnansweredCommands(ctx.db, calls),
    findUpgrade: (end) => findLostUpgrade(ctx.db, end),
    send(link, command): SendResult {
      const refusal = findRefusal(command.capabilities, command)
      if (refusal !== null) return { kind: 'rejected', code: 'unsupported', text: refusal, final: true }
      // Another organization has claimed the device since, so its link must prove that it is the same.
      if (link.orgId !== null && link.orgId !== command.orgId) {
        link.close('try_again')
        return { kind: 'unsent' }
      }
      const order = orderOf(ctx, command, localCertificates)
      if (order === null) return imageDeleted
      return link.send({ callId: command.callId, commandId: command.id, device: command, order })
    },
    isDiagnostic,
    isReboot,
    sentOf: (command, lastStep) => ({ id: command.id, device: command, kind: command.kind, lastStep }),
  }
}

/** Returns null for a command whose image no longer exists. */
function orderOf(ctx: Context, command: DeviceCommand, localCertificates: boolean): DriverCommand | null {
  switch (command.kind) {
    case 'restart':
      return { kind: 'restart', ...command.params }
    case 'locate': {
      const { duration_s: durationS } = command.params
      return { kind: 'locate', ...(durationS !== undefined && { durationS }) }
    }
    case 'upgrade':
    case 'stage':
    case 'activate': {
      const artifact = artifactOf(ctx, command, URL_LIFE_MS)
      if (artifact === null) return null
      const { version } = command.params
      if (command.kind === 'activate') return { kind: 'activate', version, sha256: artifact.sha256 }
      return { kind: command.kind, version, ...artifact, localCertificates }
    }
    case 'ping': {
      const { egress_interface: egressInterface, ...params } = command.params
      return { kind: 'ping', ...params, ...(egressInterface !== undefined && { egressInterface }) }
    }
    case 'support': {
      const uri = supportUploadUrl(ctx, { orgId: command.orgId, commandId: command.id })
      return { kind: 'support', uri, localCertificates }
    }
    case 'restore_backup':
      return { kind: 'restore_backup', ...command.params }
    case 'unlocate':
    case 'snapshot':
      return { kind: command.kind }
  }
}
