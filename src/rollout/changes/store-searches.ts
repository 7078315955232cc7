import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Db, Tx } from '../../platform/database/db.ts'

/** An upgrade that searches now for what may join it. */
export interface DueInclusion {
  readonly orgId: string
  /** The id of the upgrade of an organization. */
  readonly id: string
  /** The last device or appliance that the pass has read; null: it begins. */
  readonly after: string | null
  /** The filter for what may join. */
  readonly joining: Readonly<Record<string, unknown>>
}

/** The searches of the upgrades in a table. */
export interface Searches {
  /**
   * Claims an upgrade that is due to search: until the lease ends, no other worker searches. One that was stopped is claimed once
   * more: its search ends then.
   */
  claim(db: Db, claim: { readonly nowMs: number; readonly leaseUntilMs: number }): Promise<DueInclusion | undefined>
  /**
   * Sets when the upgrade searches next, and behind which device or appliance. @param heldUntilMs The end of the lease of the caller.
   * @returns False, and sets nothing, if the caller does not hold the lease any more.
   */
  update(
    db: Db,
    scope: InOrg,
    id: string,
    next: { readonly dueMs: number; readonly after: string | null; readonly heldUntilMs: number },
  ): Promise<boolean>
  /** Ends the search of a locked upgrade. A retry lets it search again. */
  end(tx: Tx, scope: InOrg, id: string): Promise<void>
}

/**
 * Upgrades of devices and of edge appliances search by the same rules, each in a table of their own.
 * @param name The table of upgrades of the caller's folder, with their columns `joining`, `include_due_ms` and `include_after`.
 */
export function searchesIn(name: string): Searches {
  const table = sql.table(name)
  return {
    async claim(db, { nowMs, leaseUntilMs }) {
      const { rows } = await sql<DueInclusion>`
        with due as (
          select org_id, id from ${table} where include_due_ms <= ${nowMs}
          order by include_due_ms limit 1 for update skip locked
        )
        update ${table} upgrade set include_due_ms = ${leaseUntilMs}
        from due where upgrade.org_id = due.org_id and upgrade.id = due.id
        returning upgrade.org_id, upgrade.id, upgrade.include_after as after, upgrade.joining
      `.execute(db)
      return rows[0]
    },
    async update(db, { orgId }, id, { dueMs, after, heldUntilMs }) {
      const { numAffectedRows = 0n } = await sql`
        update ${table} set include_due_ms = ${dueMs}, include_after = ${after}
        where org_id = ${orgId} and id = ${id} and include_due_ms = ${heldUntilMs}
      `.execute(db)
      return numAffectedRows > 0n
    },
    async end(tx, { orgId }, id) {
      await sql`
        update ${table} set include_due_ms = null, include_after = null where org_id = ${orgId} and id = ${id}
      `.execute(tx)
    },
  }
}
