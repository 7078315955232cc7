import type { SiteScope } from '../../access/scope.ts'
import { type DeviceEventInput, appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { TextError, notFound } from '../../platform/errors.ts'
import { type CommandCandidate, deviceOfEvent, lockCommandCandidates } from '../store.ts'
import { RESTORE_TEXT } from './command.ts'
import { findRefusal } from './capabilities.ts'
import { queueCommands } from './queue-commands.ts'
import { listRestoringDevices } from './store-restores.ts'
import { shareUpgradesInFlight } from './store-upgrades.ts'

export type MaintenanceKind = 'restore_backup' | 'snapshot'

/** The texts that clients compare come from the contract's notes, 11. */
const wording = {
  restore_backup: {
    offline: 'cannot restore backup version on an offline device',
    busy: 'cannot restore backup version during an upgrade of the device',
    restoring: 'cannot restore backup version while the device is restoring it already',
    audit: 'Restore the backup version of',
  },
  snapshot: {
    offline: 'cannot take a recovery snapshot of an offline device',
    busy: 'cannot take a recovery snapshot during an upgrade of the device',
    restoring: 'cannot take a recovery snapshot while the device is restoring its backup version',
    audit: 'Take a recovery snapshot of',
  },
} as const satisfies Record<MaintenanceKind, object>

export interface Maintenance {
  readonly kind: MaintenanceKind
  readonly deviceIds: readonly string[]
}

/**
 * Queues the command for all of the devices, with one audit record.
 * @throws AppError not_found; TextError if a device is offline, can't do it, is being upgraded, or is restoring its
 *   backup version. Then no command is queued.
 */
export async function maintainDevices(ctx: Context, scope: SiteScope, { kind, deviceIds }: Maintenance): Promise<void> {
  const ids = [...new Set(deviceIds.map((id) => id.toLowerCase()))]
  await inTx(ctx, async (tx) => {
    const devices = await lockCommandCandidates(tx, scope, ids)
    const found = new Set(devices.map(({ id }) => id))
    const missing = ids.find((id) => !found.has(id))
    if (missing !== undefined) throw notFound(missing)
    const upgrades = await shareUpgradesInFlight(tx, scope, ids)
    const restoring = await listRestoringDevices(tx, scope, ids)
    for (const device of devices) {
      const work = upgrades.has(device.id) ? 'busy' : restoring.has(device.id) ? 'restoring' : null
      const refusal = refusalOf(kind, device, work)
      if (refusal !== null) throw new TextError(devices.length === 1 ? refusal : `${refusal}: ${device.mac}`)
    }
    await queueMaintenance(tx, scope, { kind, devices, at: ctx.clock.now() })
  })
}

function refusalOf(kind: MaintenanceKind, device: CommandCandidate, work: 'busy' | 'restoring' | null): string | null {
  if (!device.connected) return wording[kind].offline
  return findRefusal(device.capabilities, { kind, params: {} }) ?? (work === null ? null : wording[kind][work])
}

interface QueuedMaintenance {
  readonly kind: MaintenanceKind
  readonly devices: readonly CommandCandidate[]
  readonly at: Date
}

async function queueMaintenance(tx: Tx, scope: SiteScope, { kind, devices, at }: QueuedMaintenance): Promise<void> {
  for (const [version, some] of Map.groupBy(devices, (device) => device.capabilities.backup_version)) {
    const order = kind === 'snapshot' ? { kind, params: {} } : { kind, params: { ...(version && { version }) } }
    await queueCommands(tx, scope, { devices: some, order, at })
  }
  const [device, ...others] = devices
  const single = others.length === 0 ? device : undefined
  const what = single === undefined ? `${devices.length} devices` : `device ${single.name ?? single.mac}`
  const auditId = await appendAudit(tx, scope, {
    message: `${wording[kind].audit} ${what}`,
    siteId: scope.siteId,
    siteName: device?.siteName ?? undefined,
    deviceId: single?.id,
    after: single === undefined ? { macs: devices.map(({ mac }) => mac) } : { mac: single.mac },
    at,
  })
  await appendDeviceEvents(
    tx,
    scope,
    devices.map((each) => ({ device: deviceOfEvent(each), auditId, ...requested(kind, each) })),
    at,
  )
}

/** A restore is a change of firmware at a person's request. */
function requested(
  kind: MaintenanceKind,
  { capabilities: { backup_version: version } }: CommandCandidate,
): Pick<DeviceEventInput, 'what' | 'text'> {
  if (kind === 'snapshot') return { what: 'RECOVERY_SNAPSHOT_REQUESTED' }
  return { what: 'UPGRADE_BY_USER', text: `${RESTORE_TEXT}${version ? ` ${version}` : ''}` }
}
