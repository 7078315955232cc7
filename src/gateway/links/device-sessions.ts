import { deviceIdOf } from '../../devices/device.ts'
import { recordConnects } from '../../devices/sessions/record-connect.ts'
import { recordDisconnects } from '../../devices/sessions/record-disconnect.ts'
import type { OpenedSession, SessionOpening } from '../../devices/sessions/store.ts'
import type { DeviceFacts } from '../../devices/device.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import { gatherAnswers } from '../../platform/queues/gather-answers.ts'
import { lockedPauses } from '../../platform/queues/locked-pauses.ts'
import { pause } from '../../platform/time/pause.ts'
import type { DeviceLink } from './device-link.ts'
import { deviceSpacing } from '../../platform/queues/spacing.ts'
import { batchOf } from '../limits.ts'
import type { OpenResult, SessionRows } from './link-side.ts'

/** The proofs of a link about its device. */
type Proven = Pick<DeviceLink, 'mac' | 'family' | 'orgId' | 'routerKey' | 'certificateSerial' | 'certificateExpiresAt'>

/** The sessions of devices. Concurrent connections are recorded in one transaction. */
export function deviceSessions(ctx: Context, nodeId: string, batchSize: number): SessionRows<Proven, DeviceFacts> {
  /** The openings whose device another transaction was changing. */
  const repeated = new WeakSet<SessionOpening>()
  const connects = gatherAnswers<string, SessionOpening, OpenedSession | 'locked' | null>({
    name: 'connections of devices',
    log: ctx.log,
    batch: batchOf(batchSize),
    spacing: deviceSpacing,
    keyOf: ({ mac }) => deviceIdOf(mac),
    async answer(openings) {
      const { opened, lockedIds } = await recordConnects(
        ctx,
        nodeId,
        openings,
        openings.some((opening) => repeated.has(opening)),
      )
      return new Map<string, OpenedSession | 'locked' | null>([
        ...openings.map(({ mac }) => [deviceIdOf(mac), null] as const),
        ...Array.from(lockedIds, (id) => [id, 'locked'] as const),
        ...opened.map((session) => [session.deviceId, session] as const),
      ])
    },
  })
  const stopping = new AbortController()
  const open = new Set<Promise<unknown>>()
  /** The latest opening of each device that connects. */
  const latest = new Map<string, SessionOpening>()

  async function untilRecorded(opening: SessionOpening): Promise<OpenResult> {
    const deviceId = deviceIdOf(opening.mac)
    const nextPauseMs = lockedPauses()
    latest.set(deviceId, opening)
    try {
      for (;;) {
        const session = await connects.add(opening)
        if (session === null) return { kind: 'refused' }
        if (session !== 'locked') return { kind: 'opened', epoch: session.epoch }
        repeated.add(opening)
        await pause(nextPauseMs(), stopping.signal)
        if (latest.get(deviceId) !== opening) return { kind: 'replaced' }
        if (stopping.signal.aborted) throw new AppError('unavailable', 'The service is stopping')
      }
    } finally {
      if (latest.get(deviceId) === opening) latest.delete(deviceId)
    }
  }

  return {
    async open({ mac, family, orgId, routerKey, certificateSerial, certificateExpiresAt }, facts) {
      const proof = {
        ...(routerKey !== undefined && { routerKey }),
        ...(certificateSerial !== undefined && { certificateSerial }),
        ...(certificateExpiresAt !== undefined && { certificateExpiresAt }),
      }
      const recorded = untilRecorded({ mac, family, orgId, ...proof, facts })
      open.add(recorded)
      return recorded.finally(() => open.delete(recorded))
    },
    close: (keys) => recordDisconnects(ctx, keys, stopping.signal),
    async stop() {
      stopping.abort()
      await Promise.allSettled(open)
    },
  }
}
