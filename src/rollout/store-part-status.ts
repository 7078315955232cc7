import { type RawBuilder, sql } from 'kysely'
import type { PartStatus } from './decide-whole-status.ts'

/** The status of a site upgrade as a part of the whole: see decideWholeStatus(). */
export function partStatusOf(siteUpgrade: 'site_upgrade' | 'part'): RawBuilder<PartStatus> {
  const column = (name: string): RawBuilder<unknown> => sql.ref(`${siteUpgrade}.${name}`)
  return sql`case when ${column('status')} = 'cancelled' and ${column('released')} > 0
    and (${column('counts')}->>'cancelled')::integer <= ${column('released')} then 'released' else ${column('status')} end`
}
