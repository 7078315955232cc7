import type { OrgScope } from '../../access/scope.ts'
import { type Db, type Tx, anyOf } from '../../platform/database/db.ts'

/** An upgrade whose end is reached. */
export interface DueEnd {
  readonly orgId: string
  readonly id: string
}

/** Lists upgrades whose end is reached, the earliest first. @param except Ids of those that are left out. */
export function listDueEnds(
  db: Db,
  { now, except, limit }: { readonly now: Date; readonly except: readonly string[]; readonly limit: number },
): Promise<DueEnd[]> {
  return db
    .selectFrom('orgUpgrade')
    .select(['orgId', 'id'])
    .where('endsAt', '<=', now)
    .where((where) => where.not(where('id', '=', anyOf(except))))
    .orderBy('endsAt')
    .limit(limit)
    .execute()
}

/**
 * Locks the organization upgrade, and forgets its end so that it is applied once.
 * @returns The end; null: another worker has applied it.
 */
export async function claimEnd(tx: Tx, scope: OrgScope, id: string, now: Date): Promise<Date | null> {
  const row = await tx
    .selectFrom('orgUpgrade')
    .select('endsAt')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .where('endsAt', '<=', now)
    .forUpdate()
    .executeTakeFirst()
  if (row === undefined) return null
  await tx
    .updateTable('orgUpgrade')
    .set({ endsAt: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
  return row.endsAt
}
