import type { Context } from '../../platform/context.ts'
import type { Reader } from '../../platform/database/db.ts'
import { gatherAnswers } from '../../platform/queues/gather-answers.ts'
import { createFailureLevel } from '../failure-level.ts'
import { batchOf } from '../limits.ts'

/** Looks up rows of a device that connects. */
export interface DeviceLookup<T> {
  /** Never rejects. */
  list(deviceId: string): Promise<readonly T[]>
  idle(): Promise<void>
}

export interface LookupOptions<T> {
  readonly name: string
  readonly batchSize: number
  readonly read: (reader: Reader, deviceIds: readonly string[]) => Promise<T[]>
  /** What the log says when the database can't be read; the result is empty then. */
  readonly failure: string
}

/** Many devices reconnect at the same time, so one statement reads the rows of all of them. */
export function createDeviceLookup<T extends { readonly deviceId: string }>(
  ctx: Context,
  { name, batchSize, read, failure }: LookupOptions<T>,
): DeviceLookup<T> {
  const gathered = gatherAnswers<string, string, readonly T[]>({
    name,
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf: (deviceId) => deviceId,
    async answer(deviceIds) {
      const byDevice = Map.groupBy(await read(ctx.db, deviceIds), ({ deviceId }) => deviceId)
      return new Map(deviceIds.map((deviceId) => [deviceId, byDevice.get(deviceId) ?? []]))
    },
  })
  const levelOf = createFailureLevel('warn')
  return {
    async list(deviceId) {
      try {
        return await gathered.add(deviceId)
      } catch (error) {
        ctx.log[levelOf(error)]({ err: error, deviceId }, failure)
        return []
      }
    },
    idle: () => gathered.idle(),
  }
}
