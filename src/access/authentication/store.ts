import { type CompiledQuery, type ExpressionBuilder, type InferResult, type RawBuilder, sql } from 'kysely'
import { type Db, anyOf, readByKeys } from '../../platform/database/db.ts'
import { inSites } from '../store-sites.ts'
import type { Schema } from '../../platform/database/schema.ts'
import { statement } from '../../platform/database/statement.ts'
import type { NamedSite, Principal, Privilege } from '../principal.ts'
import type { SiteVersion } from '../tables.ts'

type NotStored = 'via' | 'tokenId' | 'sessionHash' | 'tokenName' | 'secondFactor' | 'closedOrgs' | 'site'

export interface AdminAccess extends Omit<Principal, NotStored> {
  readonly adminId: string
  readonly passwordHash: string | null
}

export interface TokenAccess extends Omit<AdminAccess, 'adminId' | 'passwordHash'> {
  readonly tokenId: string
  readonly tokenName: string
  readonly adminId: string | null
  /** Addresses and ranges that may use the token; empty or null means any. */
  readonly srcIps: readonly string[] | null
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  /** Since when its owner has a second factor. */
  readonly totpSince: Date | null
  readonly site: NamedSite | null
}

export interface SessionAccess extends AdminAccess {
  readonly expiresAt: Date
  readonly secondFactorMissing: boolean
  readonly secondFactorPassed: boolean
  readonly lastSeenAt: Date | null
  /** When the password was last given in the session. */
  readonly passwordAt: Date | null
  readonly closedOrgIds: readonly string[]
}

/**
 * Selects the privileges of `source` (rows of org_id, scope, role, site_id, sitegroup_id, views, id, place) in the shape of
 * `Privilege`. Each organization is read for one row; see selectByTokens().
 */
function privilegesFrom(source: RawBuilder<unknown>): RawBuilder<Privilege[]> {
  return sql<Privilege[]>`(
    select coalesce(json_agg(json_build_object(
      'orgId', p.org_id, 'orgName', o.name, 'scope', p.scope, 'role', p.role, 'siteId', p.site_id,
      'sitegroupId', p.sitegroup_id, 'views', p.views, 'policy', o.access_policy,
      'siteIds', case p.scope
        when 'org' then to_json('all'::text)
        when 'site' then json_build_array(p.site_id)
        else (select coalesce(json_agg(s.id), '[]') from site s where s.org_id = p.org_id
              and (p.scope = 'orgsites' or s.doc -> 'sitegroup_ids' ? p.sitegroup_id::text))
      end) order by p.id, p.place), '[]')
    from (${source}) p
      cross join lateral (select name, access_policy from org where org.id = p.org_id limit 1) o)`
}

const ofAdmin = sql`
  select org_id, scope, role, site_id, sitegroup_id, views, id, 0 as place from privilege where admin_id = admin.id`
/** A token has either an owner or privileges of its own, so only one of both has rows. */
const ofToken = sql`
  ${ofAdmin}
  union all
  select api_token.org_id, t.scope, t.role, t.site_id, t.sitegroup_id, t.views, null, t.place from rows from (
    jsonb_to_recordset(api_token.privileges) as (scope text, role text, site_id uuid, sitegroup_id uuid, views text[])
  ) with ordinality as t (scope, role, site_id, sitegroup_id, views, place)`

const adminColumns = [
  'admin.firstName',
  'admin.lastName',
  'admin.passwordModifiedAt',
  'admin.noTracking',
  'admin.profile',
  'admin.ssoId',
] as const

function hasSecondFactor(eb: ExpressionBuilder<Schema, 'admin'>) {
  return eb('admin.totpSince', 'is not', null).as('hasSecondFactor')
}

function selectAccess(db: Db) {
  return db
    .selectFrom('admin')
    .select(['admin.id as adminId', 'admin.email', 'admin.passwordHash', ...adminColumns])
    .select((eb) => hasSecondFactor(eb))
    .select(privilegesFrom(ofAdmin).as('privileges'))
}

/** The question of a request: whose token it has and, if its path names a site, in which organization that is. */
export interface TokenQuestion {
  /** The SHA-256 of the token, in hexadecimal. */
  readonly hexHash: string
  readonly siteId: string | null
}

/** Returns the key of a question for accessByTokenKeys(). */
export function tokenKeyOf({ hexHash, siteId }: TokenQuestion): string {
  return siteId === null ? hexHash : `${hexHash} ${siteId}`
}

/**
 * Keyed by tokenKeyOf(). An admin's token has the admin's privileges, any other token its own. Most changes name a site;
 * a query of its own for it would take as long as that for the token.
 */
export function accessByTokenKeys(db: Db): AccessByTokenKeys {
  const read = questionReader(db, selectByTokensWithOrgs)
  const readWithSites = questionReader(db, selectByTokensWithSites)
  return {
    async findAccess(keys) {
      const rows = await read(keys)
      return new Map(rows.map((row) => [keyOfRow(row), tokenAccessOf(row, null)]))
    },
    async findAccessAndSite(keys) {
      const rows = await readWithSites(keys)
      return new Map(
        rows.map(({ siteName, siteTimezone, doc, siteCreatedAt, siteModifiedAt, siteVersion, ...row }) => {
          const columns = { name: siteName, timezone: siteTimezone, doc, version: siteVersion }
          const content = { ...columns, createdAt: siteCreatedAt, modifiedAt: siteModifiedAt }
          return [keyOfRow(row), tokenAccessOf(row, siteVersionOf(row, content))]
        }),
      )
    },
  }
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null }

/** Returns null for an unknown site, whose columns are all null, and for a large one, whose document is null. */
function siteVersionOf(
  { askedSiteId: id, orgIdOfSite: orgId }: TokenRow,
  { name, timezone, doc, version, createdAt, modifiedAt }: Nullable<Omit<SiteVersion, 'id' | 'orgId'>>,
): SiteVersion | null {
  if (id === null || orgId === null || name === null || timezone === null || doc === null) return null
  if (version === null || createdAt === null || modifiedAt === null) return null
  return { orgId, id, name, timezone, doc, version, createdAt, modifiedAt }
}

interface AccessByTokenKeys {
  readonly findAccess: (keys: readonly string[]) => Promise<Map<string, TokenAccess>>
  /** Also reads the sites of the questions. */
  readonly findAccessAndSite: (keys: readonly string[]) => Promise<Map<string, TokenAccess>>
}

/** Reads one question, which is all that most requests meet, by a statement of its own: arrays of one value each take longer. */
function questionReader<R>(
  db: Db,
  select: (db: Db, asked: Asked) => { compile(): CompiledQuery<R> },
): (keys: readonly string[]) => Promise<R[]> {
  const readOne = readByKeys(db, (reader, hash: Buffer, siteId: string | null) =>
    select(reader, sql`(values (${hash}::bytea, ${siteId}::text))`),
  )
  const readMany = readByKeys(db, (reader, hashes: readonly Buffer[], siteIds: readonly (string | null)[]) =>
    select(reader, sql`unnest(${hashes}::bytea[], ${siteIds}::text[])`),
  )
  return async (keys) => {
    const questions = keys.map(questionOf)
    const [only, ...others] = questions
    if (only !== undefined && others.length === 0) return readOne(only.hash, only.siteId)
    return readMany(
      questions.map(({ hash }) => hash),
      questions.map(({ siteId }) => siteId),
    )
  }
}

function questionOf(key: string): { readonly hash: Buffer; readonly siteId: string | null } {
  const [hexHash = '', siteId = null] = key.split(' ')
  return { hash: Buffer.from(hexHash, 'hex'), siteId }
}

function keyOfRow({ keyHash, askedSiteId: siteId }: Pick<TokenRow, 'keyHash' | 'askedSiteId'>): string {
  return tokenKeyOf({ hexHash: keyHash.toString('hex'), siteId })
}

/** The questions, as rows. */
type Asked = RawBuilder<{ readonly hash: Buffer; readonly siteId: string | null }>

/** A plan that is made once must not read whole tables because they were small then, so each is read for one row. */
function selectByTokens(db: Db, asked: Asked) {
  return db
    .selectFrom(asked.as<'asked'>(sql`asked (hash, site_id)`))
    .innerJoinLateral(
      (eb) =>
        eb.selectFrom('apiToken').selectAll().whereRef('keyHash', '=', 'asked.hash').limit(sql.lit(1)).as('apiToken'),
      (join) => join.onTrue(),
    )
    .leftJoinLateral(
      (eb) =>
        eb.selectFrom('admin').selectAll().whereRef('admin.id', '=', 'apiToken.adminId').limit(sql.lit(1)).as('admin'),
      (join) => join.onTrue(),
    )
    .select(['apiToken.keyHash', 'apiToken.id as tokenId', 'apiToken.name', 'apiToken.srcIps', 'apiToken.adminId'])
    .select(['apiToken.createdAt', 'apiToken.lastUsedAt', 'admin.email', 'admin.totpSince', ...adminColumns])
    .select('asked.siteId as askedSiteId')
    .select(privilegesFrom(ofToken).as('privileges'))
}

function selectByTokensWithOrgs(db: Db, asked: Asked) {
  const orgIdOfSite = sql<string | null>`(select org_id from site where id = asked.site_id::uuid)`
  return selectByTokens(db, asked).select(orgIdOfSite.as('orgIdOfSite'))
}

/** A change needs the content of a larger site as well, but then reads it alone: many requests share a query. */
export const MAX_SITE_BYTES = 16 * 1024

function selectByTokensWithSites(db: Db, asked: Asked) {
  return selectByTokens(db, asked)
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('site')
          .select(['orgId', 'name', 'timezone', 'createdAt', 'modifiedAt', sql<string>`xmin::text`.as('version')])
          .select((small) =>
            small.case().when('docBytes', '<=', sql.lit(MAX_SITE_BYTES)).then(small.ref('site.doc')).end().as('doc'),
          )
          .where('site.id', '=', sql<string>`asked.site_id::uuid`)
          .limit(sql.lit(1))
          .as('content'),
      (join) => join.onTrue(),
    )
    .select([
      'content.orgId as orgIdOfSite',
      'content.name as siteName',
      'content.timezone as siteTimezone',
      'content.doc',
    ])
    .select(['content.createdAt as siteCreatedAt', 'content.modifiedAt as siteModifiedAt'])
    .select('content.version as siteVersion')
}

type TokenRow = InferResult<ReturnType<typeof selectByTokensWithOrgs>>[number]

function tokenAccessOf(
  { name, orgIdOfSite, keyHash: _, askedSiteId: siteId, ...row }: TokenRow,
  content: SiteVersion | null,
): TokenAccess {
  return {
    ...row,
    site: siteId === null ? null : { id: siteId, orgId: orgIdOfSite, content },
    tokenName: row.adminId === null ? name : '',
    email: row.email ?? '',
    firstName: row.firstName ?? '',
    lastName: row.lastName ?? '',
    profile: row.profile ?? {},
    hasSecondFactor: row.totpSince !== null,
  }
}

/** Keyed by the hex of the SHA-256 of the session's id. Expired sessions are among them. */
export function accessBySessionHashes(db: Db): (hexHashes: readonly string[]) => Promise<Map<string, SessionAccess>> {
  const read = readByKeys(db, selectBySessionHashes)
  return async (hexHashes) => {
    const rows = await read(hexHashes.map((hex) => Buffer.from(hex, 'hex')))
    return new Map(
      rows.map(({ idHash, ...row }) => [
        idHash.toString('hex'),
        { ...row, hasSecondFactor: Boolean(row.hasSecondFactor) },
      ]),
    )
  }
}

function selectBySessionHashes(db: Db, hashes: readonly Buffer[]) {
  return selectAccess(db)
    .innerJoin('session', 'session.adminId', 'admin.id')
    .select(['session.idHash', 'session.expiresAt', 'session.secondFactorMissing', 'session.secondFactorPassed'])
    .select(['session.lastSeenAt', 'session.passwordAt', 'session.closedOrgIds'])
    .where('session.idHash', '=', anyOf(hashes))
}

/** Returns the account with its own password. @param email In lower case. */
export async function findAccessByEmail(db: Db, email: string): Promise<AdminAccess | undefined> {
  const row = await selectAccess(db)
    .where('admin.email', '=', email)
    .where('admin.ssoId', 'is', null)
    .executeTakeFirst()
  return row && { ...row, hasSecondFactor: Boolean(row.hasSecondFactor) }
}

const selectOrgOfSite = statement<{ readonly siteId: string }, { orgId: string }>(
  (param) => sql`select org_id from site where id = ${param('siteId')}`,
)

/** @returns The organization of a site, whoever asks; null if there is no such site. */
export async function findOrgOfSite(db: Db, siteId: string): Promise<string | null> {
  const [row] = await selectOrgOfSite(db, { siteId })
  return row?.orgId ?? null
}

/** Returns at most two sites of the organization that have exactly this name. */
export async function findSitesNamed(db: Db, { orgId, siteIds }: SitesOfOrg, name: string): Promise<string[]> {
  const rows = await selectSiteIds(db, { orgId, siteIds }).where('name', '=', name).limit(2).execute()
  return rows.map(({ id }) => id)
}

/** Does the same as findSitesNamed(), but a `+` equals a space. */
export async function findSitesNamedLike(db: Db, { orgId, siteIds }: SitesOfOrg, name: string): Promise<string[]> {
  const rows = await selectSiteIds(db, { orgId, siteIds })
    .where(sql<string>`replace(name, '+', ' ')`, '=', name.replaceAll('+', ' '))
    .limit(2)
    .execute()
  return rows.map(({ id }) => id)
}

interface SitesOfOrg {
  readonly orgId: string
  readonly siteIds: 'all' | readonly string[]
}

function selectSiteIds(db: Db, { orgId, siteIds }: SitesOfOrg) {
  return db
    .selectFrom('site')
    .select('id')
    .where('orgId', '=', orgId)
    .where(inSites({ siteIds }, sql.ref('site.id')))
}
