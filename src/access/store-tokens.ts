import { sql } from 'kysely'
import type { Tx } from '../platform/db.ts'

export interface TokenUse {
  readonly id: string
  readonly at: Date
}

/** Other processes write theirs: the latest use stays. Tokens that are gone are passed over. */
export async function recordTokenUses(tx: Tx, uses: readonly TokenUse[]): Promise<void> {
  const ids = uses.map(({ id }) => id)
  const times = uses.map(({ at }) => at)
  await sql`
    update api_token set last_used_at = greatest(api_token.last_used_at, u.at)
    from unnest(${ids}::uuid[], ${times}::timestamptz[]) as u (id, at)
    where api_token.id = u.id`.execute(tx)
}
