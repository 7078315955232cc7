import { sql } from 'kysely'
import type { ConditionKey } from '../../events/store-system.ts'
import type { Reader } from '../../platform/database/db.ts'
import type { StorageKind } from '../../platform/database/schema.ts'

export interface OrgUsage {
  readonly orgId: string
  readonly kind: StorageKind
  readonly bytes: number
}

/** Returns the usage of each organization for each kind of storage. */
export async function listUsage(reader: Reader): Promise<OrgUsage[]> {
  return reader
    .selectFrom('storageUsage')
    .select(['orgId', 'kind', sql<number>`sum(bytes)::double precision`.as('bytes')])
    .groupBy(['orgId', 'kind'])
    .execute()
}

/**
 * Lists the organizations that a condition of the server concerns: those with devices, whose operation it may prevent,
 * and those that have received the condition, which must learn of its end.
 */
export async function listConcernedOrgs(
  reader: Reader,
  { type, subject }: Pick<ConditionKey, 'type' | 'subject'>,
): Promise<string[]> {
  const { rows } = await sql<{ orgId: string }>`
    select org_id from device_count where count > 0
    union
    select org_id from system_condition where type = ${type} and subject = ${subject}
    order by 1
  `.execute(reader)
  return rows.map(({ orgId }) => orgId)
}
