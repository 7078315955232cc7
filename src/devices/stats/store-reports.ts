import { sql } from 'kysely'
import { type Tx, json } from '../../platform/db.ts'
import type { ReportedStatus } from './decide-report.ts'

export interface StatusUpdate extends ReportedStatus {
  readonly orgId: string
  readonly deviceId: string
}

export async function saveReports(tx: Tx, updates: readonly StatusUpdate[], at: Date): Promise<void> {
  const rows = updates.map((update) => ({
    org_id: update.orgId,
    device_id: update.deviceId,
    load: update.load,
    boot_count: update.bootCount,
    booted_at: update.bootedAt,
    boot_known_ms: update.bootKnownMs,
    fwupdate: update.fwupdate,
  }))
  await sql`
    update device_status status set last_seen_at = ${at}, load = new.load, boot_count = new.boot_count,
      booted_at = new.booted_at, boot_known_ms = new.boot_known_ms, fwupdate = new.fwupdate
    from jsonb_to_recordset(${json(rows)}::jsonb) as new (org_id uuid, device_id uuid, load jsonb,
      boot_count integer, booted_at timestamptz, boot_known_ms double precision, fwupdate jsonb)
    where status.org_id = new.org_id and status.device_id = new.device_id
  `.execute(tx)
}
