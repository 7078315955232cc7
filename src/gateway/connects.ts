import { recordConnects } from '../devices/sessions/record-connect.ts'
import { deviceIdOf } from '../devices/device.ts'
import type { OpenedSession, SessionOpening } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { type Batcher, createBatcher } from './batch.ts'

/** Records the sessions of devices that connect at the same time in one transaction. */
export function createConnects(
  ctx: Context,
  nodeId: string,
  batchSize: number,
): Batcher<SessionOpening, OpenedSession> {
  return createBatcher<string, SessionOpening, OpenedSession>({
    maxItems: batchSize,
    keyOf: ({ mac }) => deviceIdOf(mac),
    async run(openings) {
      const opened = await recordConnects(ctx, nodeId, openings)
      return new Map(opened.map((session) => [session.deviceId, session]))
    },
  })
}
