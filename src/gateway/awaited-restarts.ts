import { type AwaitedRestart, listAwaitedRestarts } from '../devices/commands/store-awaited.ts'
import type { Context } from '../platform/context.ts'
import { gatherAnswers } from '../platform/gather-answers.ts'
import { batchOf } from './limits.ts'

export interface AwaitedRestarts {
  /** Lists the restarts of parts of the device that may not be back yet. Never rejects. */
  list(deviceId: string): Promise<readonly AwaitedRestart[]>
  idle(): Promise<void>
}

/** Many devices reconnect at the same time, so one statement reads the restarts of all of them. */
export function createAwaitedRestarts(ctx: Context, batchSize: number): AwaitedRestarts {
  const gathered = gatherAnswers<string, string, readonly AwaitedRestart[]>({
    name: 'restarts of parts of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf: (deviceId) => deviceId,
    async answer(deviceIds) {
      const byDevice = Map.groupBy(await listAwaitedRestarts(ctx.db, deviceIds), ({ deviceId }) => deviceId)
      return new Map(deviceIds.map((deviceId) => [deviceId, byDevice.get(deviceId) ?? []]))
    },
  })
  return {
    async list(deviceId) {
      try {
        return await gathered.add(deviceId)
      } catch (error) {
        ctx.log.warn({ err: error, deviceId }, 'could not look up which parts of a device restart; they will time out')
        return []
      }
    },
    idle: () => gathered.idle(),
  }
}
