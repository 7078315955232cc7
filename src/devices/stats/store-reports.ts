import { sql } from 'kysely'
import type { Tx } from '../../platform/db.ts'
import { columnsOf, updateRows } from '../../platform/rows.ts'
import type { ReportedStatus } from './decide-report.ts'

export interface StatusUpdate extends ReportedStatus {
  readonly orgId: string
  readonly deviceId: string
}

const reportColumns = columnsOf('deviceStatus', {
  orgId: 'uuid',
  deviceId: 'uuid',
  load: 'jsonb',
  bootCount: 'integer',
  bootedAt: 'timestamptz',
  bootKnownMs: 'float8',
  fwupdate: 'jsonb',
})

export async function updateReportedStatuses(tx: Tx, updates: readonly StatusUpdate[], at: Date): Promise<void> {
  await updateRows(tx, reportColumns, updates, { key: ['orgId', 'deviceId'], set: sql`last_seen_at = ${at}` })
}
