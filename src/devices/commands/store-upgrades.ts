import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf, lookingUp } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { splitRows } from '../../platform/database/split.ts'
import { noteStats } from '../stats/note-stats.ts'
import type { FwUpdate } from '../tables.ts'

/** The upgrade that has a device to itself, from its creation until the device's target ends. */
export interface AssignedDevice {
  readonly deviceId: string
  /** The id of the site upgrade. */
  readonly upgradeId: string
  readonly orgUpgradeId: string
  readonly imageId: string
  /** The images that it gives the device afterwards; null: none. */
  readonly laterImages: readonly string[] | null
}

const assignedColumns = columnsOf('deviceUpgrade', {
  orgId: 'uuid',
  deviceId: 'uuid',
  upgradeId: 'uuid',
  orgUpgradeId: 'uuid',
  imageId: 'uuid',
  laterImages: 'jsonb',
})

const setAssigned = sql`upgrade_id = new.upgrade_id, org_upgrade_id = new.org_upgrade_id, image_id = new.image_id,
  later_images = new.later_images`

function setScheduled(at: Date): RawBuilder<unknown> {
  return sql`progress = 0, status = 'scheduled', will_retry = false, status_id = own.status_id + 1, shown_at = ${at}`
}

/**
 * Assigns devices to upgrades, except those that another upgrade already has, and shows their updates as scheduled.
 * @returns The ids of the assigned devices.
 */
export async function assignDevices(
  tx: Tx,
  scope: InOrg,
  wanted: readonly AssignedDevice[],
  at: Date,
): Promise<Set<string>> {
  const assigned: string[] = []
  // Concurrent requests lock in the order of the ids, so they can't deadlock.
  for (const part of splitRows(inOrderOfIds(wanted))) {
    const rows = await lookingUp(tx, () => assignSome(tx, withOrg(scope, part), at))
    noteStats(tx, withOrg(scope, rows))
    // A fleet's ids are in memory once.
    const known = new Map(part.map(({ deviceId }) => [deviceId, deviceId]))
    for (const { deviceId } of rows) assigned.push(known.get(deviceId) ?? deviceId)
  }
  return new Set(assigned)
}

/**
 * Updates the rows in their order, without locking them first: one that has changed meanwhile is compared again. PostgreSQL
 * expects that every other row passes the `case`. A plain `is null` it expects of hardly any row while it knows nothing of
 * the column, and then compares each row of the table with each given one.
 */
async function assignSome(
  tx: Tx,
  part: readonly RowOf<typeof assignedColumns>[],
  at: Date,
): Promise<{ deviceId: string }[]> {
  const { rows } = await sql<{ deviceId: string }>`
    with free as materialized (
      select new.* from ${rowsAs('new', assignedColumns, part)}
      cross join lateral (
        select upgrade_id from device_upgrade where org_id = new.org_id and device_id = new.device_id limit 1) known
      where known.upgrade_id is null
    )
    update device_upgrade own set ${setAssigned}, ${setScheduled(at)}
    from free as new where own.org_id = new.org_id and own.device_id = new.device_id
      and case when own.upgrade_id is null then true end
    returning own.device_id
  `.execute(tx)
  return rows
}

/**
 * Locks the rows of those devices that no upgrade has, or that are in `taken`, in the order of their ids, for a transaction that
 * calls assignDevices() and then changes those in `taken`: it would otherwise lock the latter after higher ids.
 */
export async function lockAssignable(
  tx: Tx,
  { orgId }: InOrg,
  { deviceIds, taken }: { readonly deviceIds: readonly string[]; readonly taken: readonly string[] },
): Promise<void> {
  await sql`
    select from device_upgrade
    where org_id = ${orgId} and device_id = ${anyOf(deviceIds)}
      and (upgrade_id is null or device_id = ${anyOf(taken)})
    order by device_id for no key update
  `.execute(tx)
}

/** Assigns devices that an upgrade has, and has not begun with, to these upgrades. The caller has locked both. */
export async function reassignDevices(tx: Tx, scope: InOrg, taken: readonly AssignedDevice[], at: Date): Promise<void> {
  await updateAssigned(tx, scope, taken, sql`${setAssigned}, ${setScheduled(at)}`)
  noteStats(tx, withOrg(scope, taken))
}

/** Updates which images the upgrades of the devices give them. */
export async function updateImages(tx: Tx, scope: InOrg, assigned: readonly AssignedDevice[]): Promise<void> {
  await updateAssigned(tx, scope, assigned, setAssigned)
}

async function updateAssigned(
  tx: Tx,
  scope: InOrg,
  assigned: readonly AssignedDevice[],
  set: RawBuilder<unknown>,
): Promise<void> {
  if (assigned.length === 0) return
  await sql`
    update device_upgrade own set ${set}
    from ${rowsAs('new', assignedColumns, withOrg(scope, inOrderOfIds(assigned)))}
    where own.org_id = new.org_id and own.device_id = new.device_id
  `.execute(tx)
}

/** The changes that a step of an upgrade makes to its device. */
export interface DeviceUpgradeStep {
  readonly deviceId: string
  /** `kept`: the progress stays as it is; null: none is shown any more. */
  readonly shown: Pick<FwUpdate, 'progress' | 'status' | 'will_retry'> | 'kept' | null
  /** The device was commanded, and the outcome is not known yet. */
  readonly inFlight: boolean
  /** The upgrade releases the device. */
  readonly ends: boolean
  /** The transaction has inserted a command for the device. */
  readonly isCommanded: boolean
}

const stepColumns = columnsOf(
  'deviceUpgrade',
  {
    orgId: 'uuid',
    deviceId: 'uuid',
    inFlight: 'boolean',
    progress: 'smallint',
    status: 'text',
    willRetry: 'boolean',
  },
  { isKept: 'boolean', ends: 'boolean' },
)

/**
 * Records steps of upgrades for their devices. A device that is deleted at the same time gets no command: its deletion waits for the
 * updated row, and then finds the command, or else the row is gone. See migration 491.
 * @throws Error if a commanded device has been deleted.
 */
export async function updateDeviceUpgrades(
  tx: Tx,
  scope: InOrg,
  steps: readonly DeviceUpgradeStep[],
  at: Date,
): Promise<void> {
  let missing = steps.length
  for (const part of splitRows(inOrderOfIds(steps))) missing -= await updateSome(tx, scope, part, at)
  if (missing > 0) await assertNotDeleted(tx, scope, steps)
}

/** Releases devices from their upgrades, and shows no progress of them any more. */
export async function releaseDevices(tx: Tx, scope: InOrg, deviceIds: readonly string[], at: Date): Promise<void> {
  const released = { shown: null, inFlight: false, ends: true, isCommanded: false } as const
  const steps = deviceIds.map((deviceId) => Object.assign({ deviceId }, released))
  await updateDeviceUpgrades(tx, scope, steps, at)
}

/** Not every step has a device. */
async function assertNotDeleted(tx: Tx, { orgId }: InOrg, steps: readonly DeviceUpgradeStep[]): Promise<void> {
  const commanded = steps.filter(({ isCommanded }) => isCommanded).map(({ deviceId }) => deviceId)
  const kept = await tx
    .selectFrom('deviceUpgrade')
    .select('deviceId')
    .where('orgId', '=', orgId)
    .where('deviceId', '=', anyOf(commanded))
    .execute()
  const found = new Set(kept.map(({ deviceId }) => deviceId))
  const deleted = commanded.find((deviceId) => !found.has(deviceId))
  if (deleted !== undefined) throw new Error(`Device ${deleted} has been deleted while an upgrade commanded it`)
}

/** @returns How many rows it has updated. */
async function updateSome(tx: Tx, scope: InOrg, steps: readonly DeviceUpgradeStep[], at: Date): Promise<number> {
  const rows = steps.map(({ deviceId, shown, inFlight, ends }) => {
    const { progress = null, status = null, will_retry: willRetry = null } = shown === 'kept' ? {} : (shown ?? {})
    return { orgId: scope.orgId, deviceId, inFlight, ends, progress, status, willRetry, isKept: shown === 'kept' }
  })
  const { numAffectedRows } = await sql`
    update device_upgrade own set
      progress = case when new.is_kept then own.progress else new.progress end,
      status = case when new.is_kept then own.status else new.status end,
      will_retry = case when new.is_kept then own.will_retry else new.will_retry end,
      shown_at = case when new.is_kept then own.shown_at else ${at}::timestamptz end,
      status_id = case when new.is_kept then own.status_id else own.status_id + 1 end,
      in_flight = new.in_flight,
      upgrade_id = case when not new.ends then own.upgrade_id end,
      org_upgrade_id = case when not new.ends then own.org_upgrade_id end,
      image_id = case when not new.ends then own.image_id end,
      later_images = case when not new.ends then own.later_images end
    from ${rowsAs('new', stepColumns, rows)}
    where own.org_id = new.org_id and own.device_id = new.device_id
  `.execute(tx)
  noteStats(tx, rows)
  return Number(numAffectedRows ?? 0)
}

/** All code that changes rows of several devices locks them in the order of the ids, to prevent deadlocks. */
function inOrderOfIds<T extends { readonly deviceId: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
}

function withOrg<T extends object>({ orgId }: InOrg, rows: readonly T[]): (T & { readonly orgId: string })[] {
  return rows.map((row) => Object.assign({ orgId }, row))
}

/** Lists those of the devices that an upgrade has to itself, with the organization's upgrade. */
export function listActiveDevices(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<{ readonly deviceId: string; readonly orgUpgradeId: string | null }[]> {
  return reader
    .selectFrom('deviceUpgrade')
    .select(['deviceId', 'orgUpgradeId'])
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .where('upgradeId', 'is not', null)
    .execute()
}

/**
 * Returns those of the devices that an upgrade has, and lets no upgrade get one of the other devices until `tx` ends. The caller has
 * locked the devices themselves.
 */
export async function lockActiveDevices(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  // Transactions that end commands lock them before the progress of upgrades.
  await tx
    .selectFrom('deviceCommand')
    .select('id')
    .where('deviceId', '=', anyOf(deviceIds))
    .where('pending', 'in', ['queued', 'sent'])
    .orderBy('id')
    .forUpdate()
    .execute()
  const locked = await tx
    .selectFrom('deviceUpgrade')
    .select(['deviceId', 'upgradeId'])
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .orderBy('deviceId')
    .forUpdate()
    .execute()
  return new Set(locked.flatMap(({ deviceId, upgradeId }) => (upgradeId === null ? [] : [deviceId])))
}

/** Returns the id of the site upgrade that has the device to itself. */
export async function findActiveUpgrade(reader: Reader, scope: InOrg, deviceId: string): Promise<string | undefined> {
  const active = await reader
    .selectFrom('deviceUpgrade')
    .select('upgradeId')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .executeTakeFirst()
  return active?.upgradeId ?? undefined
}

/**
 * Returns the organization upgrades that are in flight on the devices, by the device's id. The rows stay locked against
 * the rollout engine until `tx` ends: a round that commands a device comes either before this call, which then sees it,
 * or after `tx`. Call it before `tx` locks the status of a device: all callers lock these rows in that order.
 */
export async function shareUpgradesInFlight(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const active = await tx
    .selectFrom('deviceUpgrade')
    .select(['deviceId', 'inFlight', 'orgUpgradeId'])
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .orderBy('deviceId')
    .forShare()
    .execute()
  return new Map(
    active.flatMap(({ deviceId, inFlight, orgUpgradeId }) =>
      inFlight && orgUpgradeId !== null ? [[deviceId, orgUpgradeId]] : [],
    ),
  )
}

/**
 * SQL condition on `command`, a queued device command: true for one that would disturb an upgrade which has
 * reached the device. The check at the time of the request can miss an upgrade that is created at the same moment.
 */
export const disturbsUpgrade: RawBuilder<boolean> = sql<boolean>`(
  command.site_upgrade_id is null and command.kind in ('restart', 'restore_backup', 'snapshot') and exists (
    select from device_upgrade active
    where active.org_id = command.org_id and active.device_id = command.device_id and active.in_flight
      and not exists (
        select from device_command own
        where own.device_id = command.device_id and own.pending = 'queued' and own.site_upgrade_id = active.upgrade_id)))`

/**
 * Returns the images that devices have downloaded, but have not been commanded to install since, by the id of the
 * device. The commands are the only evidence.
 */
export async function listStagedImages(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ deviceId: string; imageId: string }>`
    select wanted.id as device_id, last.image_id
    from unnest(${deviceIds}::uuid[]) as wanted (id)
    cross join lateral (
      select kind, state, image_id from device_command
      where org_id = ${scope.orgId} and device_id = wanted.id and kind in ('upgrade', 'stage', 'activate')
      order by id desc limit 1) last
    where last.kind = 'stage' and last.state = 'done'
  `.execute(reader)
  return new Map(rows.map(({ deviceId, imageId }) => [deviceId, imageId]))
}
