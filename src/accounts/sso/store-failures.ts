import { type Selectable, sql } from 'kysely'
import { uuidv7 } from 'uuidv7'
import type { OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists.ts'
import { sizesOf } from '../../http/store-bounds.ts'
import { pageOf } from '../../http/store-pages.ts'
import type { TimeRange } from '../../http/search.ts'
import type { Reader, Tx } from '../../platform/db.ts'
import type { SsoFailureTable } from '../tables.ts'
import type { Sso } from './sso.ts'

export type SsoFailure = Selectable<SsoFailureTable>

/** Newest first. */
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
  readonly detail: string
  readonly assertion: string
  readonly at: Date
}

/** Adds a failure and drops the oldest beyond `keep`: anybody can cause them. */
export async function insertFailure(tx: Tx, sso: Sso, failure: NewFailure & { readonly keep: number }): Promise<void> {
  const { orgId, id: ssoId } = sso
  const { detail, assertion, at, keep } = failure
  await tx.insertInto('ssoFailure').values({ orgId, id: uuidv7(), ssoId, detail, assertion, createdAt: at }).execute()
  await sql`
    delete from sso_failure where org_id = ${orgId} and sso_id = ${ssoId} and id in (
      select id from sso_failure where org_id = ${orgId} and sso_id = ${ssoId} order by id desc offset ${keep})
  `.execute(tx)
}
