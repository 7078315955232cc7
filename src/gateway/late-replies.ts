import { type CallKey, type CommandToSend, listUnansweredCommands } from '../devices/commands/store.ts'
import { type UpgradeEnd, findLostUpgrade } from '../firmware/store-lost-upgrades.ts'
import type { Context } from '../platform/context.ts'
import { gatherAnswers } from '../platform/gather-answers.ts'
import { isCommandCallId } from './call-ids.ts'
import { batchOf } from './limits.ts'

export interface LateReplies {
  /**
   * Finds the command whose call has this id, if its outcome is still open. The call may have been sent on an older
   * link or by an earlier run of the gateway. Never rejects.
   */
  findCommand(key: CallKey): Promise<CommandToSend | null>
  /** Finds the lost upgrade that ended at that time, by the clock of the device. Never rejects. */
  findUpgrade(end: UpgradeEnd): Promise<CommandToSend | null>
  idle(): Promise<void>
}

export function createLateReplies(ctx: Context, batchSize: number): LateReplies {
  const commands = gatherAnswers<string, CallKey, CommandToSend | null>({
    name: 'late replies of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf,
    async answer(keys) {
      const found = new Map<string, CommandToSend | null>(keys.map((key) => [keyOf(key), null]))
      for (const command of await listUnansweredCommands(ctx.db, keys)) found.set(keyOf(command), command)
      return found
    },
  })
  return {
    async findCommand(key) {
      if (!isCommandCallId(key.callId)) return null
      try {
        return await commands.add(key)
      } catch (error) {
        ctx.log.warn({ err: error, deviceId: key.deviceId }, 'could not look up what a late reply answers; it is lost')
        return null
      }
    },
    async findUpgrade(end) {
      try {
        return (await findLostUpgrade(ctx.db, end)) ?? null
      } catch (error) {
        ctx.log.warn({ err: error, deviceId: end.deviceId }, 'could not look up which upgrade has ended; it is lost')
        return null
      }
    },
    idle: () => commands.idle(),
  }
}

function keyOf({ deviceId, callId }: CallKey): string {
  return `${deviceId} ${callId}`
}
