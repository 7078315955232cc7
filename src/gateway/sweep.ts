import { recordNodeAlive, recordNodeStarted, sweepDeadNodes } from '../devices/sessions/record-node.ts'
import { tellOutages } from '../devices/sessions/record-disconnect.ts'
import { sweepCommands } from '../devices/commands/record-commands.ts'
import { findSuperseded } from '../devices/sessions/store.ts'
import type { Context } from '../platform/context.ts'
import { closeCodes } from './close-codes.ts'
import type { GatewayCounters } from './counters.ts'
import type { Limits } from './limits.ts'
import type { SessionRegistry } from './session-registry.ts'
import { TELEMETRY_INTERVAL_S } from './ucentral/handlers/connect.ts'
import type { Session } from './ucentral/session.ts'

/** Pings sessions and ends those that are dead, have not sent `connect` in time or send too much. */
export function watchSessions(sessions: Iterable<Session>, nowMs: number, { helloMs, pingMs, deadMs }: Limits): void {
  for (const session of sessions) {
    session.look()
    if (!session.isConnected && nowMs - session.openedAtMs >= helloMs)
      session.close(closeCodes.policy, 'no connect message')
    else if (nowMs - session.heardAtMs >= deadMs && !session.isPaused) session.terminate()
    else if (nowMs - session.pingedAtMs >= pingMs) session.ping()
  }
}

/** Reports that a device may miss before it is named in the log. */
const UPTIME_INTERVALS = 5

/**
 * An access point without an active configuration can't read its state, so it reports no uptime and little proves
 * its boots: the operator has to know.
 */
export function warnOfMissingUptimes({ log }: Context, sessions: Iterable<Session>, nowMs: number): void {
  for (const session of sessions) {
    const isDue = nowMs - session.openedAtMs >= UPTIME_INTERVALS * TELEMETRY_INTERVAL_S * 1000
    if (session.uptime !== 'awaited' || !isDue) continue
    session.uptime = 'missed'
    log.warn({ mac: session.mac }, 'reports no uptime, so its boots may go unnoticed; has it a configuration?')
  }
}

export interface SweepOptions {
  readonly nodeId: string
  readonly sessions: SessionRegistry
  readonly counters: GatewayCounters
  /** See createLostDevicesSweep. */
  readonly sweepLostDevices: () => Promise<void>
}

/** Does the gateway's regular work on the database. The steps are independent; the next sweep retries failed ones. */
export async function sweepDatabase(ctx: Context, options: SweepOptions): Promise<void> {
  const steps = {
    lease: () => keepLease(ctx, options),
    superseded: () => closeSuperseded(ctx, options),
    nodes: () => sweepDeadNodes(ctx, options.nodeId),
    lost: options.sweepLostDevices,
    outages: () => tellOutages(ctx),
    commands: () => sweepCommands(ctx),
  }
  for (const [step, run] of Object.entries(steps)) {
    try {
      await run()
    } catch (error) {
      ctx.log.warn({ err: error, step }, 'a sweep of the gateway failed; trying again')
    }
  }
}

/** When another node has taken this one for dead, the sessions are lost and their devices must reconnect. */
async function keepLease(ctx: Context, { nodeId, sessions, counters }: SweepOptions): Promise<void> {
  if (await recordNodeAlive(ctx, nodeId)) return
  counters.add('lost_lease')
  ctx.log.error({ nodeId }, 'the gateway was taken for dead; devices must connect again')
  await recordNodeStarted(ctx, nodeId)
  for (const session of sessions.all()) session.close(closeCodes.tryAgain, 'try again later')
}

/** Closes sessions of devices that have since connected to another node; their old sockets may not notice for minutes. */
async function closeSuperseded(ctx: Context, { sessions }: SweepOptions): Promise<void> {
  const keys = [...sessions.all()].map(({ deviceId, epoch }) => ({ deviceId, epoch }))
  for (const { deviceId, epoch } of await findSuperseded(ctx.db, keys)) {
    const session = sessions.find(deviceId)
    if (session?.epoch === epoch) session.close(closeCodes.replaced, 'a newer connection of the device is open')
  }
}
