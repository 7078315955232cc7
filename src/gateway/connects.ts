import { recordConnects } from '../devices/sessions/record-connect.ts'
import { deviceIdOf } from '../devices/device.ts'
import type { OpenedSession, SessionOpening } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { type AnsweringGatherer, gatherAnswers } from '../platform/gather-answers.ts'
import { batchOf } from './limits.ts'

/** Records the sessions of devices that connect at the same time in one transaction. */
export function createConnects(
  ctx: Context,
  nodeId: string,
  batchSize: number,
): AnsweringGatherer<SessionOpening, OpenedSession> {
  return gatherAnswers<string, SessionOpening, OpenedSession>({
    name: 'connections of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf: ({ mac }) => deviceIdOf(mac),
    async answer(openings) {
      const opened = await recordConnects(ctx, nodeId, openings)
      return new Map(opened.map((session) => [session.deviceId, session]))
    },
  })
}
