import { deviceIdOf } from '../../devices/device.ts'
import { recordConnects } from '../../devices/sessions/record-connect.ts'
import { recordDisconnects } from '../../devices/sessions/record-disconnect.ts'
import type { SessionOpening } from '../../devices/sessions/store.ts'
import type { DeviceFacts } from '../../devices/device.ts'
import type { Context } from '../../platform/context.ts'
import { deviceSpacing } from '../../platform/queues/spacing.ts'
import type { DeviceLink } from './device-link.ts'
import type { SessionRows } from './link-side.ts'
import { gatherOpenings } from './openings.ts'

/** The proofs of a link about its device. */
type Proven = Pick<DeviceLink, 'mac' | 'family' | 'orgId' | 'routerKey' | 'certificateSerial' | 'certificateExpiresAt'>

/** The sessions of devices. */
export function deviceSessions(ctx: Context, nodeId: string, batchSize: number): SessionRows<Proven, DeviceFacts> {
  const openings = gatherOpenings<SessionOpening>(ctx, {
    name: 'connections of devices',
    batchSize,
    spacing: deviceSpacing,
    idOf: ({ mac }) => deviceIdOf(mac),
    record: (some, isRepeated) => recordConnects(ctx, nodeId, some, isRepeated),
  })
  return {
    open({ mac, family, orgId, routerKey, certificateSerial, certificateExpiresAt }, facts) {
      const proof = {
        ...(routerKey !== undefined && { routerKey }),
        ...(certificateSerial !== undefined && { certificateSerial }),
        ...(certificateExpiresAt !== undefined && { certificateExpiresAt }),
      }
      return openings.open({ mac, family, orgId, ...proof, facts })
    },
    close: (keys, isRepeated) => recordDisconnects(ctx, keys, isRepeated),
    stop: () => openings.stop(),
  }
}
