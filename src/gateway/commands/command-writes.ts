import type { AdvancedCommand } from '../../devices/commands/store.ts'
import type { FinishedCommand } from '../../devices/commands/store-ended.ts'
import type { Context } from '../../platform/context.ts'
import { countKeys } from '../../platform/json/count-keys.ts'
import { deviceSpacing } from '../../platform/queues/spacing.ts'
import { gatherUnlockedFacts } from '../gather-facts.ts'
import type { CommandRows, RowOfCommand } from './command-rows.ts'

/** Writes what became of commands, many at a time. Those of locked rows are written later. */
export interface CommandWrites {
  /** @returns False if the step could not be written. */
  advance(deviceId: string, step: AdvancedCommand): Promise<boolean>
  finish(deviceId: string, ended: FinishedCommand): void
  /** Returns a command that was not sent to its queue. */
  requeue(command: RowOfCommand): void
  /** True while something about the commands of the device is not written. */
  isPending(deviceId: string): boolean
  /** Resolves when nothing about the commands of the device is left to write. */
  idle(deviceId: string): Promise<void>
  /** Resolves when everything so far is written, except for locked commands. Never rejects. */
  flush(): Promise<void>
  /** Resolves when everything is written. */
  stop(): Promise<void>
}

export function createCommandWrites(
  ctx: Context,
  rows: Pick<CommandRows<never, never, never>, 'advance' | 'finish' | 'requeue'>,
): CommandWrites {
  const progress = gatherUnlockedFacts<AdvancedCommand>(ctx, {
    name: 'progress of commands',
    rowOf: ({ id }) => id,
    write: async (items, isRepeated) => (await rows.advance?.(items, isRepeated)) ?? new Set(),
    idOf: ({ orgId, id: commandId }) => ({ orgId, commandId }),
  })
  const outcomes = gatherUnlockedFacts<FinishedCommand>(ctx, {
    name: 'outcomes of commands',
    spacing: deviceSpacing,
    rowOf: ({ id }) => id,
    async write(items, isRepeated) {
      // A command that has ended accepts no progress any more, so the device's earlier reports are written first.
      await progress.flush()
      const waiting = items.filter(({ id }) => progress.isLocked(id)).map(({ id }) => id)
      const ready = items.filter(({ id }) => !progress.isLocked(id))
      const locked = ready.length === 0 ? [] : await rows.finish(ready, isRepeated)
      return new Set([...waiting, ...locked])
    },
    bytesOf: ({ outcome }) => ('text' in outcome ? (outcome.text?.length ?? 0) : 0),
    idOf: ({ orgId, id: commandId }) => ({ orgId, commandId }),
  })
  const unsent = gatherUnlockedFacts<RowOfCommand>(ctx, {
    name: 'commands that were not sent',
    rowOf: ({ id }) => id,
    write: (items, isRepeated) => rows.requeue(items, isRepeated),
    idOf: ({ orgId, id: commandId }) => ({ orgId, commandId }),
  })
  /** The devices of what is not written. */
  const pending = countKeys()
  return {
    async advance(deviceId, step) {
      const added = progress.add(step)
      pending.during(deviceId, added)
      return added.then(
        () => true,
        () => false,
      )
    },
    finish(deviceId, ended) {
      pending.during(deviceId, outcomes.add(ended))
    },
    requeue(command) {
      pending.during(command.deviceId, unsent.add(command))
    },
    isPending: (deviceId) => pending.has(deviceId),
    idle: (deviceId) => pending.idle(deviceId),
    flush: async () => void (await Promise.all([outcomes.flush(), progress.flush(), unsent.flush()])),
    async stop() {
      // An outcome waits for the steps of its command.
      await Promise.all([progress.stop().then(() => outcomes.stop()), unsent.stop()])
    },
  }
}
