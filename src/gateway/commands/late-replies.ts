import type { CallKey } from '../../devices/commands/store.ts'
import type { Context } from '../../platform/context.ts'
import { gatherAnswers } from '../../platform/queues/gather-answers.ts'
import { isCommandCallId } from './call-ids.ts'
import type { CommandRows, RowOfCommand, UpgradeEnd } from './command-rows.ts'
import { createFailureLevel } from '../failure-level.ts'
import { batchOf } from '../limits.ts'

export interface LateReplies<C> {
  /**
   * Finds the command whose call has this id, if its outcome is still open. The call may have been sent on an older
   * link or by an earlier run of the gateway. Never rejects.
   */
  findCommand(key: CallKey): Promise<C | null>
  /** Finds the lost upgrade that ended at that time, by the clock of the device. Never rejects. */
  findUpgrade(end: UpgradeEnd): Promise<C | null>
  idle(): Promise<void>
}

export function createLateReplies<C extends RowOfCommand>(
  ctx: Context,
  rows: Pick<CommandRows<never, C, unknown>, 'listUnanswered' | 'findUpgrade'>,
  batchSize: number,
): LateReplies<C> {
  const commands = gatherAnswers<string, CallKey, C | null>({
    name: 'late replies of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf,
    async answer(keys) {
      const found = new Map<string, C | null>(keys.map((key) => [keyOf(key), null]))
      for (const command of await rows.listUnanswered(keys)) found.set(keyOf(command), command)
      return found
    },
  })
  const levelOf = createFailureLevel('warn')
  return {
    async findCommand(key) {
      if (!isCommandCallId(key.callId)) return null
      try {
        return await commands.add(key)
      } catch (error) {
        const fields = { err: error, deviceId: key.deviceId }
        ctx.log[levelOf(error)](fields, 'could not look up what a late reply answers; it is lost')
        return null
      }
    },
    async findUpgrade(end) {
      try {
        return (await rows.findUpgrade?.(end)) ?? null
      } catch (error) {
        const fields = { err: error, deviceId: end.deviceId }
        ctx.log[levelOf(error)](fields, 'could not look up which upgrade has ended; it is lost')
        return null
      }
    },
    idle: () => commands.idle(),
  }
}

function keyOf({ deviceId, callId }: CallKey): string {
  return `${deviceId} ${callId}`
}
