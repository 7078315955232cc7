import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { TopicEvents } from '../../events/topics.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, insertRows } from '../../platform/database/rows.ts'
import { type PartStatus, type WholeEnd, decideWholeEnd } from '../decide-whole-status.ts'
import { partStatusOf } from '../store-part-status.ts'

export type UpgradeEvent = TopicEvents['upgrade-events']

const columns = columnsOf('upgradeEvent', { orgId: 'uuid', orgUpgradeId: 'uuid', id: 'uuid', event: 'jsonb' })

/** Inserts events that stay as long as their upgrades. */
export async function insertUpgradeEvents(tx: Tx, scope: InOrg, events: readonly UpgradeEvent[]): Promise<void> {
  const rows = events.map((event) => ({ orgUpgradeId: event.upgrade_id, id: event.id, event }))
  await insertRows(tx, columns, rows, { every: { orgId: scope.orgId } })
}

/** Lists the names of those of the upgrades that have one. */
export async function listUpgradeNames(
  reader: Reader,
  scope: InOrg,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ readonly id: string; readonly name: string }>`
    select id, request->>'name' as name from org_upgrade
    where org_id = ${scope.orgId} and id = ${anyOf(ids)} and request ? 'name'
  `.execute(reader)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** The ends of an organization upgrade at its sites, and the number of devices by result. */
export interface EndedUpgrade {
  readonly id: string
  readonly status: WholeEnd
  readonly total: number
  readonly upgraded: number
  readonly failed: number
}

/** Lists those of the organization upgrades that run at no site any more. The caller has locked them. */
export async function listEnded(tx: Tx, scope: InOrg, orgUpgradeIds: readonly string[]): Promise<EndedUpgrade[]> {
  if (orgUpgradeIds.length === 0) return []
  const { rows } = await sql<Omit<EndedUpgrade, 'status'> & { readonly statuses: readonly PartStatus[] }>`
    select org_upgrade_id as id, sum((plan->>'planned')::integer)::integer as total,
      array_agg(distinct ${partStatusOf('site_upgrade')}) as statuses,
      sum(coalesce((counts->>'upgraded')::integer, 0) + coalesce((counts->>'staged')::integer, 0))::integer as upgraded,
      sum(coalesce((counts->>'failed')::integer, 0))::integer as failed
    from site_upgrade
    where org_id = ${scope.orgId} and org_upgrade_id = any(${orgUpgradeIds}::uuid[])
    group by org_upgrade_id
    having bool_and(finished_at is not null)
  `.execute(tx)
  return rows.map(({ id, statuses, total, upgraded, failed }) => {
    const status = decideWholeEnd({ statuses, hasResults: upgraded + failed > 0 })
    return { id, status, total, upgraded, failed }
  })
}
