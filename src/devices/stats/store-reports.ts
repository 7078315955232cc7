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

export function updateReportedStatuses(tx: Tx, updates: readonly StatusUpdate[], at: Date): Promise<void> {
  return updateReported(tx, updates, { at })
}
