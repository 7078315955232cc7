import { deviceIdOf } from '../devices/device.ts'
import { recordConnects } from '../devices/sessions/record-connect.ts'
import { recordDisconnects } from '../devices/sessions/record-disconnect.ts'
import type { OpenedSession, SessionOpening } from '../devices/sessions/store.ts'
import type { DeviceFacts } from '../devices/device.ts'
import type { Context } from '../platform/context.ts'
import { gatherAnswers } from '../platform/gather-answers.ts'
import type { DeviceLink } from './device-link.ts'
import { batchOf } from './limits.ts'
import type { SessionRows } from './link-side.ts'

/** The sessions of devices. Those of devices that connect at the same time are recorded in one transaction. */
export function deviceSessions(
  ctx: Context,
  nodeId: string,
  batchSize: number,
): SessionRows<Pick<DeviceLink, 'mac' | 'family'>, DeviceFacts> {
  const connects = gatherAnswers<string, SessionOpening, OpenedSession>({
    name: 'connections of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf: ({ mac }) => deviceIdOf(mac),
    async answer(openings) {
      const opened = await recordConnects(ctx, nodeId, openings)
      return new Map(opened.map((session) => [session.deviceId, session]))
    },
  })
  return {
    async open({ mac, family }, facts) {
      const { epoch } = await connects.add({ mac, family, facts })
      return epoch
    },
    close: (keys) => recordDisconnects(ctx, keys),
    idle: () => connects.idle(),
  }
}
