import { type Selectable, sql } from 'kysely'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { TimeRange } from '../../http/lists/search.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { SsoFailureTable } from '../tables.ts'

export type SsoFailure = Selectable<SsoFailureTable>

/** Lists the failures of an SSO, newest first. */
export async function listFailures(
  reader: Reader,
  scope: OrgScope,
  { ssoId, start, end, page }: TimeRange & { readonly ssoId: string; readonly page: Page },
): Promise<Paged<SsoFailure>> {
  const hits = reader
    .selectFrom('ssoFailure')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('ssoId', '=', ssoId)
    .where('createdAt', '>=', start)
    .where('createdAt', '<=', end)
  return pageOf<SsoFailure>(
    reader,
    { hits, direction: 'desc', sizes: sizesOf(sql`octet_length(hit.detail) + octet_length(hit.assertion)`) },
    page,
  )
}

export interface NewFailure {
  readonly ssoId: string
  readonly detail: string
  readonly assertion: string
  readonly at: Date
  /** The number of failures of the SSO to keep. */
  readonly keep: number
}

/** Inserts a failure and deletes the oldest beyond `keep`: anyone can cause failures. */
export async function insertFailure(tx: Tx, { orgId }: InOrg, failure: NewFailure): Promise<void> {
  const { ssoId, detail, assertion, at, keep } = failure
  await tx.insertInto('ssoFailure').values({ orgId, id: uuidv7(), ssoId, detail, assertion, createdAt: at }).execute()
  await sql`
    delete from sso_failure where org_id = ${orgId} and sso_id = ${ssoId} and id in (
      select id from sso_failure where org_id = ${orgId} and sso_id = ${ssoId} order by id desc offset ${keep})
  `.execute(tx)
}
