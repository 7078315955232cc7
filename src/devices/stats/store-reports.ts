import { sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, rowsUpdate } from '../../platform/database/rows.ts'
import type { DeviceCapabilities, VcMember } from '../tables.ts'
import type { ReportedStatus } from './decide-report.ts'

export interface StatusUpdate extends ReportedStatus {
  readonly orgId: string
  readonly deviceId: string
  /** Null: unchanged. */
  readonly newMembers: readonly VcMember[] | null
  /** Null: unchanged. */
  readonly newCapabilities: DeviceCapabilities | null
}

const reportColumns = columnsOf(
  'deviceStatus',
  {
    orgId: 'uuid',
    deviceId: 'uuid',
    load: 'jsonb',
    bootCount: 'integer',
    bootedAt: 'timestamptz',
    bootKnownMs: 'float8',
  },
  { newMembers: 'jsonb', newCapabilities: 'jsonb' },
)

const updateReported = rowsUpdate<RowOf<typeof reportColumns>, { readonly at: Date }>(reportColumns, (param) => ({
  key: ['orgId', 'deviceId'],
  set: sql`last_seen_at = ${param('at')}::timestamptz, members = coalesce(new.new_members, device_status.members),
    capabilities = coalesce(new.new_capabilities, device_status.capabilities)`,
}))

/**
 * Locks what reports change: the progress of these devices, and their statuses. Devices of which another transaction has
 * locked a part are skipped.
 * @returns The ids of the skipped ones.
 */
export async function lockFreeStatuses(tx: Tx, deviceIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with own as materialized (
      select org_id, id from device where id = any(${deviceIds}::uuid[]) order by id for key share skip locked
    ), upgrading as materialized (
      select upgrade.org_id, upgrade.device_id from device_upgrade upgrade
      join own on own.org_id = upgrade.org_id and own.id = upgrade.device_id
      where upgrade.status = 'inprogress' order by upgrade.device_id for update of upgrade skip locked
    ), reported as materialized (
      select status.org_id, status.device_id from device_status status
      join own on own.org_id = status.org_id and own.id = status.device_id
      order by status.device_id for update of status skip locked
    )
    select id from device where id = any(${deviceIds}::uuid[]) and (
      not exists (select from own where own.id = device.id)
      or exists (
        select from device_upgrade upgrade
        where upgrade.org_id = device.org_id and upgrade.device_id = device.id and upgrade.status = 'inprogress'
          and not exists (select from upgrading where upgrading.device_id = device.id))
      or exists (
        select from device_status status where status.org_id = device.org_id and status.device_id = device.id
          and not exists (select from reported where reported.device_id = device.id)))
  `.execute(tx)
  return rows.map(({ id }) => id)
}

export async function updateReportedStatuses(tx: Tx, updates: readonly StatusUpdate[], at: Date): Promise<void> {
  await updateReported(tx, updates, { at })
}
