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

/** The proofs of a link about its device. */
type Proven = Pick<DeviceLink, 'mac' | 'family' | 'orgId' | 'routerKey' | 'certificateSerial' | 'certificateExpiresAt'>

/** The sessions of devices. Concurrent connections are recorded in one transaction. */
export function deviceSessions(ctx: Context, nodeId: string, batchSize: number): SessionRows<Proven, DeviceFacts> {
  const connects = gatherAnswers<string, SessionOpening, OpenedSession | null>({
    name: 'connections of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    keyOf: ({ mac }) => deviceIdOf(mac),
    async answer(openings) {
      const opened = await recordConnects(ctx, nodeId, openings)
      const refused = openings.map(({ mac }) => [deviceIdOf(mac), null] as const)
      return new Map<string, OpenedSession | null>([
        ...refused,
        ...opened.map((session) => [session.deviceId, session] as const),
      ])
    },
  })
  return {
    async open({ mac, family, orgId, routerKey, certificateSerial, certificateExpiresAt }, facts) {
      const proof = {
        ...(routerKey !== undefined && { routerKey }),
        ...(certificateSerial !== undefined && { certificateSerial }),
        ...(certificateExpiresAt !== undefined && { certificateExpiresAt }),
      }
      const opened = await connects.add({ mac, family, orgId, ...proof, facts })
      return opened?.epoch ?? null
    },
    close: (keys) => recordDisconnects(ctx, keys),
    idle: () => connects.idle(),
  }
}
