import { type Selectable, sql } from 'kysely'
import type { InOrg, OrgScope, SiteScope, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import type { EventDevice } from '../events/append.ts'
import { shareOrg } from '../orgs/store.ts'
import { type Reader, type Tx, anyOf } from '../platform/database/db.ts'
import { type DocumentText, documentText } from '../platform/sealing/document-column.ts'
import { noteChanges } from '../platform/database/changes.ts'
import { columnsOf, insertRows } from '../platform/database/rows.ts'
import { deleteBuckets } from './telemetry/store-series.ts'
import type { DeviceCapabilities, DeviceTable } from './tables.ts'
import type { DeviceType } from '../events/device-type.ts'
import { noCapabilities } from './commands/capabilities.ts'

/** A claimed device, with the name of its site, and the names of its pictures by their number. */
export type Device = Omit<Selectable<DeviceTable>, 'docBytes' | 'nameKey' | 'siteSince'> & {
  readonly siteName: string | null
  readonly images: Readonly<Record<string, string>> | null
}

const images = sql<Device['images']>`(select jsonb_object_agg(image.number, image.name) from device_image image
  where image.org_id = device.org_id and image.device_id = device.id)`

/** The columns of a Device without its id, of `device` and `site`. */
export const deviceColumns = sql`device.org_id, device.site_id, device.mac, device.serial, device.model, device.type,
  device.name, device.claim_code, device.doc, device.created_at, device.modified_at, site.name as site_name, ${images} as images`

function selectDevices(reader: Reader, scope: InOrg) {
  return reader
    .selectFrom('device')
    .leftJoin('site', (join) => join.onRef('site.orgId', '=', 'device.orgId').onRef('site.id', '=', 'device.siteId'))
    .selectAll('device')
    .select(['site.name as siteName', images.as('images')])
    .where('device.orgId', '=', scope.orgId)
}

/** Finds a device of the scope's site. */
export function findDevice(reader: Reader, scope: SiteScope, deviceId: string): Promise<Device | undefined> {
  return selectDevices(reader, scope)
    .where('device.siteId', '=', scope.siteId)
    .where('device.id', '=', deviceId)
    .executeTakeFirst()
}

/** Like findDevice(), but locks the device against other changes until `tx` ends. */
export function lockDevice(tx: Tx, scope: SiteScope, deviceId: string): Promise<Device | undefined> {
  return selectDevices(tx, scope)
    .where('device.siteId', '=', scope.siteId)
    .where('device.id', '=', deviceId)
    .forUpdate('device')
    .executeTakeFirst()
}

/** The devices are locked in the order of their ids, as by every caller, so that they never deadlock. */
export function lockDevicesBy(
  tx: Tx,
  scope: SitesScope,
  { macs, serials }: { readonly macs: readonly string[]; readonly serials: readonly string[] },
): Promise<Device[]> {
  return selectDevices(tx, scope)
    .where(inSites(scope, sql.ref('device.site_id')))
    .where((eb) => eb.or([eb('device.mac', '=', anyOf(macs)), eb('device.serial', '=', anyOf(serials))]))
    .orderBy('device.id')
    .forUpdate('device')
    .execute()
}

/** Lists those of the devices that the organization has. */
export function listDevicesById(reader: Reader, scope: InOrg, deviceIds: readonly string[]): Promise<Device[]> {
  return selectDevices(reader, scope).where('device.id', '=', anyOf(deviceIds)).execute()
}

/** A device with the facts that decide whether it can be commanded. */
export type CommandCandidate = Device & { readonly connected: boolean; readonly capabilities: DeviceCapabilities }

/**
 * Lists those of the devices that are in the scope's site, with these facts, and prevents that they are unclaimed until
 * `tx` ends; other writers are not blocked.
 */
export async function shareCommandCandidates(
  tx: Tx,
  scope: SiteScope,
  deviceIds: readonly string[],
): Promise<CommandCandidate[]> {
  const rows = await selectCandidates(tx, scope, deviceIds).forKeyShare('device').execute()
  return rows.map(candidateOf)
}

/** Does the same as shareCommandCandidates(), but transactions that lock the same device run one after the other. */
export async function lockCommandCandidates(
  tx: Tx,
  scope: SiteScope,
  deviceIds: readonly string[],
): Promise<CommandCandidate[]> {
  const rows = await selectCandidates(tx, scope, deviceIds).forNoKeyUpdate('device').execute()
  return rows.map(candidateOf)
}

function selectCandidates(tx: Tx, scope: SiteScope, deviceIds: readonly string[]) {
  return selectDevices(tx, scope)
    .leftJoin('deviceStatus as status', (join) =>
      join.onRef('status.orgId', '=', 'device.orgId').onRef('status.deviceId', '=', 'device.id'),
    )
    .select(['status.connected', 'status.capabilities'])
    .where('device.siteId', '=', scope.siteId)
    .where('device.id', '=', anyOf(deviceIds))
    .orderBy('device.id')
}

function candidateOf<
  T extends { readonly connected: boolean | null; readonly capabilities: DeviceCapabilities | null },
>(row: T) {
  return { ...row, connected: row.connected ?? false, capabilities: row.capabilities ?? noCapabilities }
}

export interface NewDevice {
  readonly id: string
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: DeviceType
  readonly claimCode: string
}

const newColumns = columnsOf('device', {
  orgId: 'uuid',
  id: 'uuid',
  mac: 'text',
  serial: 'text',
  model: 'text',
  type: 'text',
  claimCode: 'text',
  createdAt: 'timestamptz',
  modifiedAt: 'timestamptz',
})

export async function insertDevices(
  tx: Tx,
  scope: InOrg,
  { devices, at }: { devices: readonly NewDevice[]; at: Date },
): Promise<void> {
  await insertRows(tx, newColumns, devices, { every: { orgId: scope.orgId, createdAt: at, modifiedAt: at } })
}

export interface DeviceContent {
  readonly id: string
  readonly name: string | null
  readonly doc: Record<string, unknown>
  readonly at: Date
}

export async function updateDeviceRow(tx: Tx, scope: InOrg, { id, name, doc, at }: DeviceContent): Promise<void> {
  await tx
    .updateTable('device')
    .set({ name, doc: documentText(doc), modifiedAt: at })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'device', [{ orgId: scope.orgId, id }])
  // Statistics show fields of the document.
  noteChanges(tx, 'device_stats', [{ orgId: scope.orgId, id }])
}

export interface Assignment {
  readonly deviceIds: readonly string[]
  /** Null: the device gets no site. */
  readonly siteId: string | null
  /** Settings, in wire shape, that the devices get with the assignment. */
  readonly settings: Record<string, unknown>
  readonly at: Date
}

/** Assigns devices to a site. A device that leaves its site is also removed from the map there. */
export async function assignToSite(
  tx: Tx,
  scope: InOrg,
  { deviceIds, siteId, settings, at }: Assignment,
): Promise<void> {
  await noteLeaving(tx, scope, { deviceIds, siteId })
  const offMap = sql`case when site_id is distinct from ${siteId}::uuid then doc - '{map_id,x,y}'::text[] else doc end`
  await tx
    .updateTable('device')
    .set({
      siteId,
      siteSince: sql<Date>`case when site_id is distinct from ${siteId}::uuid then ${at} else site_since end`,
      doc: sql<DocumentText>`(${offMap}) || ${documentText(settings)}::jsonb`,
      modifiedAt: at,
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(deviceIds))
    .execute()
  const assigned = deviceIds.map((id) => ({ orgId: scope.orgId, id }))
  noteChanges(tx, 'device', assigned)
  noteChanges(tx, 'device_stats', assigned)
}

/** Notifies watchers of the devices that leave their sites. */
async function noteLeaving(
  tx: Tx,
  { orgId }: InOrg,
  { deviceIds, siteId }: Pick<Assignment, 'deviceIds' | 'siteId'>,
): Promise<void> {
  const leaving = await tx
    .selectFrom('device')
    .select(['id', 'siteId'])
    .where('orgId', '=', orgId)
    .where('id', '=', anyOf(deviceIds))
    .where('siteId', 'is not', null)
    .where(sql<boolean>`site_id is distinct from ${siteId}::uuid`)
    .execute()
  noteChanges(
    tx,
    'device_left',
    leaving.map((device) => ({ orgId, id: `${device.siteId}/${device.id}` })),
  )
}

/** The rows that belong to the devices (status, reports, commands) are deleted with them; their events are kept. */
export async function deleteDevices(tx: Tx, scope: OrgScope, deviceIds: readonly string[]): Promise<void> {
  await deleteBuckets(tx, scope, deviceIds)
  await noteLeaving(tx, scope, { deviceIds, siteId: null })
  await tx.deleteFrom('device').where('orgId', '=', scope.orgId).where('id', '=', anyOf(deviceIds)).execute()
}

/** Returns the name of a site of the scope, which can't be deleted until `tx` ends. */
export async function shareSiteName(tx: Tx, scope: SitesScope, siteId: string): Promise<string | undefined> {
  // The organization is locked before its site, as by all code that needs both.
  await shareOrg(tx, scope)
  const row = await tx
    .selectFrom('site')
    .select('name')
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('site.id')))
    .where('id', '=', siteId)
    .forKeyShare()
    .executeTakeFirst()
  return row?.name
}

export function deviceOfEvent({ id, mac, type, name, siteId, siteName }: Device): EventDevice {
  return { id, mac, type, name, siteId, siteName }
}
