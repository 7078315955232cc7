import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../access/scope.ts'
import { conditionOn } from '../http/store-filters.ts'
import type { Context } from '../platform/context.ts'
import { type Db, type Tx, inTx } from '../platform/db.ts'
import type { Comparison, DeviceFilter } from './store-lists.ts'

/** Changes that one transaction adds to the counters. */
const BATCH = 10_000

/**
 * The number of devices with each value of a field, as a query for `value` and `count`; a value may have several rows.
 * @param field Its name in the counters.
 * @param filter Conditions on the type and on the value, all others being on neither.
 */
export function valueCounts(
  { orgId }: InOrg,
  field: string,
  { type, of }: { readonly type: DeviceFilter['counted']['type']; readonly of: Comparison['condition'] | null },
): RawBuilder<unknown> {
  const where = sql.join(
    [
      sql`org_id = ${orgId} and field = ${field}`,
      ...(type === undefined ? [] : [conditionOn({ value: sql`type` }, type)]),
      ...(of === null ? [] : [conditionOn(valueColumn, of)]),
    ],
    sql` and `,
  )
  return sql`select value, count from device_value_count where ${where}
    union all select value, count from device_value_delta where ${where}`
}

/** Counters have numbers as texts. */
const valueColumn = { value: sql`value`, isAnyOf: (values: readonly string[]) => sql`value = any(${values})` }

/** Adds the changes of values to the counters, in transactions of limited size. Concurrent runs don't conflict. */
export async function foldValueCounts(ctx: Context, signal: AbortSignal): Promise<void> {
  for (let folded = BATCH; folded === BATCH && !signal.aborted;) folded = await inTx(ctx, foldBatch)
  await deleteUnusedCounts(ctx.db)
}

async function foldBatch(tx: Tx): Promise<number> {
  const { rows } = await sql<{ folded: string }>`
    with taken as (
      delete from device_value_delta where ctid = any(array(
        select ctid from device_value_delta limit ${BATCH} for update skip locked
      )) returning *
    ), added as (
      insert into device_value_count as known (org_id, field, type, value, count)
      select org_id, field, type, value, sum(count) from taken
      group by 1, 2, 3, 4 having sum(count) <> 0 order by 1, 2, 3, 4
      on conflict (org_id, field, type, value) do update set count = known.count + excluded.count
    )
    select count(*) as folded from taken`.execute(tx)
  return Number(rows[0]?.folded)
}

/** Values that no device has any more. */
async function deleteUnusedCounts(db: Db): Promise<void> {
  await sql`delete from device_value_count where (org_id, field, type, value) in (
    select org_id, field, type, value from device_value_count where count = 0 for update skip locked)`.execute(db)
}

/** These rows have no foreign key to their organization, because writers would have to lock it. */
export async function deleteValueCountsOfOrg(tx: Tx, { orgId }: InOrg): Promise<void> {
  await sql`delete from device_value_delta where org_id = ${orgId}`.execute(tx)
  await sql`delete from device_value_count where org_id = ${orgId}`.execute(tx)
}
