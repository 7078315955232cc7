import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import type { Mxedge } from '../mxedge.ts'

/** An edge appliance whose agent has a certificate that expires soon. */
export interface ExpiringMxedge extends Pick<Mxedge, 'orgId' | 'id' | 'name' | 'siteId'> {
  readonly expiresAt: Date
}

/** Lists the registered appliances that connected last by a certificate which expires before then. */
export async function listExpiringMxedges(reader: Reader, before: Date): Promise<ExpiringMxedge[]> {
  const { rows } = await sql<ExpiringMxedge>`
    select mxedge.org_id, mxedge.id, mxedge.name, mxedge.site_id, session.certificate_expires_at as expires_at
    from mxedge_session session
    join mxedge on mxedge.org_id = session.org_id and mxedge.id = session.mxedge_id
    where session.certificate_expires_at < ${before} and mxedge.registered_key is not null
    order by mxedge.org_id, mxedge.id
  `.execute(reader)
  return rows
}
