import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { sizesOf } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, type Tx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { type PrivilegeRow, listPrivilegesOf, wirePrivilege } from './store-privileges.ts'

/** A person with privileges in an organization. */
export interface OrgAdmin {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly hasSecondFactor: boolean
  readonly viaSso: boolean
  /** True if a Google account is linked. */
  readonly hasGoogle: boolean
  readonly passwordModifiedAt: Date | null
  /** The privileges in this organization. */
  readonly privileges: readonly WirePrivilege[]
}

/** Lists the admins of the organization by address. */
export async function listAdmins(reader: Reader, scope: OrgScope, page: Page): Promise<Paged<OrgAdmin>> {
  const { rows, ...whole } = await pageOf<AdminRow & { readonly privileges: readonly PrivilegeRow[] }>(
    reader,
    {
      hits: selectAdmins(reader, scope),
      order: ['email', 'id'],
      rows: sql`select page.*, (
          select json_agg(json_build_object('scope', scope, 'role', role, 'siteId', site_id,
            'sitegroupId', sitegroup_id, 'views', views) order by privilege.id)
          from privilege where privilege.org_id = ${scope.orgId} and privilege.admin_id = page.id) as privileges
        from page`,
      sizes: sizesOf(privilegeBytes(scope)),
    },
    page,
  )
  return { rows: rows.map(({ privileges, ...row }) => adminOf(row, privileges.map(wirePrivilege))), ...whole }
}

function privilegeBytes({ orgId }: OrgScope): RawBuilder<unknown> {
  return sql`(select coalesce(sum(octet_length(to_json(privilege)::text) + 2 * octet_length(org.name)), 0)
    from privilege join org on org.id = privilege.org_id
    where privilege.org_id = ${orgId} and privilege.admin_id = hit.id)`
}

/** @throws AppError not_found for a person without a privilege in the organization. */
export async function getOrgAdmin(reader: Reader, scope: OrgScope, adminId: string): Promise<OrgAdmin> {
  const row = await selectAdmins(reader, scope).where('id', '=', adminId).executeTakeFirst()
  if (row === undefined) throw notFound(adminId)
  return adminOf(row, await listPrivilegesOf(reader, scope, adminId))
}

/** Counts the admins of the whole organization whose account does not depend on an identity provider. */
export async function countFullAdmins(tx: Tx, { orgId }: OrgScope): Promise<number> {
  const { total } = await tx
    .selectFrom('privilege')
    .innerJoin('admin', 'admin.id', 'privilege.adminId')
    .select((eb) => eb.fn.count<string>('privilege.adminId').distinct().as('total'))
    .where('privilege.orgId', '=', orgId)
    .where('privilege.scope', '=', 'org')
    .where('privilege.role', '=', 'admin')
    .where('admin.ssoId', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(total)
}

/**
 * True if an account with this address has a privilege in the organization. Accounts of an identity provider don't
 * count.
 */
export async function isAdminAddress(reader: Reader, scope: InOrg, email: string): Promise<boolean> {
  const row = await selectAdmins(reader, scope).where('email', '=', email).where('ssoId', 'is', null).executeTakeFirst()
  return row !== undefined
}

function selectAdmins(reader: Reader, scope: InOrg) {
  return reader
    .selectFrom('admin')
    .select(['id', 'email', 'firstName', 'lastName', 'totpSince', 'ssoId', 'passwordModifiedAt'])
    .select((eb) =>
      eb
        .exists(
          eb
            .selectFrom('oauthIdentity')
            .select('provider')
            .whereRef('oauthIdentity.adminId', '=', 'admin.id')
            .where('provider', '=', 'google'),
        )
        .$castTo<boolean>()
        .as('hasGoogle'),
    )
    .where('id', 'in', (eb) => eb.selectFrom('privilege').select('adminId').where('orgId', '=', scope.orgId))
}

interface AdminRow extends Omit<OrgAdmin, 'hasSecondFactor' | 'viaSso' | 'privileges'> {
  readonly totpSince: Date | null
  readonly ssoId: string | null
}

function adminOf({ totpSince, ssoId, ...row }: AdminRow, privileges: readonly WirePrivilege[]): OrgAdmin {
  return { ...row, hasSecondFactor: totpSince !== null, viaSso: ssoId !== null, privileges }
}
