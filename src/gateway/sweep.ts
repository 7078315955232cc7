import { recordNodeAlive, recordNodeStarted, sweepDeadNodes } from '../devices/sessions/record-node.ts'
import { appendDueOutages } from '../devices/sessions/record-disconnect.ts'
import { sweepCommands } from '../devices/commands/record-commands.ts'
import { listMacsRevokedSince, listRevokedMacs } from '../devices/certificates/store.ts'
import { isKeyOf, listRouterKeys } from '../devices/routers/store.ts'
import { findSuperseded } from '../devices/sessions/store.ts'
import { addMs } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import { splitByBytes } from '../platform/database/split.ts'
import type { ApplianceLink } from './links/appliance-link.ts'
import { sweepAppliances } from './links/appliances.ts'
import type { GatewayCounters } from './counters.ts'
import type { DeviceLink } from './links/device-link.ts'
import { linksOfStatement } from './limits.ts'
import type { LinkRegistry } from './links/link-registry.ts'

/** Far longer than it takes to close the links of a revoked certificate; a new link is checked as it is recorded. */
const RECENT_MS = 3_600_000

export interface SweepOptions {
  readonly nodeId: string
  readonly links: LinkRegistry<DeviceLink>
  readonly appliances: LinkRegistry<ApplianceLink>
  readonly counters: GatewayCounters
  /** See createLostDevicesSweep. */
  readonly sweepLostDevices: () => Promise<void>
}

/** Does the gateway's regular work on the database. The steps are independent; the next sweep retries failed ones. */
export async function sweepDatabase(ctx: Context, options: SweepOptions): Promise<void> {
  const steps = {
    lease: () => keepLease(ctx, options),
    superseded: () => closeSuperseded(ctx, options),
    routers: () => closeUnregistered(ctx, options),
    nodes: () => sweepDeadNodes(ctx, options.nodeId),
    lost: options.sweepLostDevices,
    outages: () => appendDueOutages(ctx),
    commands: () => sweepCommands(ctx),
    appliances: () => sweepAppliances(ctx),
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
async function keepLease(ctx: Context, { nodeId, links, appliances, counters }: SweepOptions): Promise<void> {
  if (await recordNodeAlive(ctx, nodeId)) return
  counters.add('lost_lease')
  ctx.log.error({ nodeId }, 'the gateway was taken for dead; devices must connect again')
  await recordNodeStarted(ctx, nodeId)
  for (const link of [...links.all(), ...appliances.all()]) link.close('try_again')
}

/** Closes links of devices that have since connected to another node; their old sockets may not notice for minutes. */
async function closeSuperseded(ctx: Context, { links }: SweepOptions): Promise<void> {
  const keys = [...links.all()].map(({ deviceId, epoch }) => ({ deviceId, epoch }))
  for (const part of splitByBytes(keys, () => 0, linksOfStatement))
    for (const { deviceId, epoch } of await findSuperseded(ctx.db, part)) {
      const link = links.find(deviceId)
      if (link?.epoch === epoch) link.close('replaced')
    }
}

/** Closes links whose certificates have been revoked since they connected. */
export async function closeRevoked(ctx: Context, links: LinkRegistry<DeviceLink>): Promise<void> {
  const macs = new Set(await listMacsRevokedSince(ctx.db, addMs(ctx.clock.now(), -RECENT_MS)))
  if (macs.size === 0) return
  const concerned = [...links.all()].filter(({ mac }) => macs.has(mac))
  const shown = concerned.flatMap(({ mac, certificateSerial: serial }) =>
    serial === undefined ? [] : [{ mac, serial }],
  )
  const revoked = await listRevokedMacs(ctx.db, shown)
  for (const link of concerned) if (link.certificateSerial !== undefined && revoked.has(link.mac)) link.close('revoked')
}

/** Closes links of routers that have left the organization since: they have to register again. */
async function closeUnregistered(ctx: Context, { links }: SweepOptions): Promise<void> {
  const routers = [...links.all()].filter(({ routerKey }) => routerKey !== undefined)
  if (routers.length === 0) return
  const registered = await listRouterKeys(
    ctx.db,
    routers.map(({ deviceId }) => deviceId),
  )
  const keys = new Map(registered.map((key) => [key.deviceId, key]))
  for (const link of routers) {
    const key = keys.get(link.deviceId)
    if (key === undefined || !isKeyOf(key, link.routerKey)) link.close('unregistered')
  }
}
