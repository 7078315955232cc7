import { sql } from 'kysely'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'

export interface TokenUse {
  readonly id: string
  readonly at: Date
}

const useColumns = columnsOf('apiToken', { id: 'uuid' }, { at: 'timestamptz' })

/**
 * Other processes record uses too: the latest one wins. Deleted tokens are skipped. Rows are locked in a fixed order to
 * prevent deadlocks.
 */
export async function recordTokenUses(tx: Tx, uses: readonly TokenUse[]): Promise<void> {
  await sql`
    with locked as materialized (
      select id from api_token where id = ${anyOf(uses.map(({ id }) => id))} order by id for no key update
    )
    update api_token set last_used_at = greatest(api_token.last_used_at, u.at)
    from ${rowsAs('u', useColumns, uses)} join locked using (id)
    where api_token.id = u.id`.execute(tx)
}
