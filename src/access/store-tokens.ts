import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'

export interface TokenUse {
  readonly id: string
  readonly at: Date
}

/**
 * Other processes record uses too: the latest one wins. Deleted tokens are skipped. Rows are locked in one order, as
 * everywhere, to prevent deadlocks.
 */
export async function recordTokenUses(tx: Tx, uses: readonly TokenUse[]): Promise<void> {
  const ids = uses.map(({ id }) => id)
  const times = uses.map(({ at }) => at)
  await sql`
    with locked as materialized (
      select id from api_token where id = any(${ids}::uuid[]) order by id for no key update
    )
    update api_token set last_used_at = greatest(api_token.last_used_at, u.at)
    from unnest(${ids}::uuid[], ${times}::timestamptz[]) as u (id, at) join locked using (id)
    where api_token.id = u.id`.execute(tx)
}
