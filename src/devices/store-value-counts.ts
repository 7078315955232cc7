import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../access/scope.ts'
import type { DeviceType } from '../events/device-type.ts'
import { conditionOn } from '../http/lists/store-filters.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { columnsOf, rowsAs } from '../platform/database/rows.ts'
import type { Comparison, DeviceFilter } from './store-lists.ts'

/** Changes that one transaction adds to the counters. */
const BATCH = 10_000

/**
 * The number of devices with each value of a field, as a query for `value` and `count`; a value may have several rows.
 * @param field Its name in the counters.
 * @param filter Conditions on the type and on the value only.
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
}

const countKeys = columnsOf('deviceValueCount', { orgId: 'uuid', field: 'text', type: 'text', value: 'text' })

interface CountKey {
  readonly orgId: string
  readonly field: string
  readonly type: DeviceType
  readonly value: string
}

async function foldBatch(tx: Tx): Promise<number> {
  const { rows } = await sql<{ folded: number; unused: readonly CountKey[] }>`
    with taken as (
      delete from device_value_delta where ctid = any(array(
        select ctid from device_value_delta limit ${BATCH} for update skip locked
      )) returning *
    ), added as (
      insert into device_value_count as known (org_id, field, type, value, count)
      select org_id, field, type, value, sum(count) from taken
      group by 1, 2, 3, 4 having sum(count) <> 0 order by 1, 2, 3, 4
      on conflict (org_id, field, type, value) do update set count = known.count + excluded.count
      returning org_id, field, type, value, count
    )
    select (select count(*)::integer from taken) as folded, coalesce((
      select jsonb_agg(jsonb_build_object('orgId', org_id, 'field', field, 'type', type, 'value', value))
      from added where count = 0), '[]') as unused`.execute(tx)
  const [{ folded, unused } = { folded: 0, unused: [] }] = rows
  await deleteUnusedCounts(tx, unused)
  return folded
}

/** Deletes counters of values that no device has any more. `tx` has changed them, so no other transaction can. */
async function deleteUnusedCounts(tx: Tx, unused: readonly CountKey[]): Promise<void> {
  if (unused.length === 0) return
  await sql`delete from device_value_count known using ${rowsAs('unused', countKeys, unused)}
    where known.org_id = unused.org_id and known.field = unused.field
      and known.type = unused.type and known.value = unused.value`.execute(tx)
}

/** These rows have no foreign key to their organization, because writers would have to lock it. */
export async function deleteValueCountsOfOrg(tx: Tx, { orgId }: InOrg): Promise<void> {
  await sql`delete from device_value_delta where org_id = ${orgId}`.execute(tx)
  await sql`delete from device_value_count where org_id = ${orgId}`.execute(tx)
}
