import { randomBytes } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminScope, type OrgScope, adminScope, systemScope } from '../../src/access/scope.ts'
import { deletePrivileges } from '../../src/access/store-privileges.ts'
import { deleteInviteRow, updateInviteRow } from '../../src/accounts/admins/store-invites.ts'
import { deleteTokens, updateTokenPrivileges } from '../../src/accounts/grants/store.ts'
import { completeSession, updatePasswordHash } from '../../src/accounts/sessions/store.ts'
import { deleteSsoRoleRow, updateSsoRoleRow } from '../../src/accounts/sso/store-roles.ts'
import {
  consumeRequest,
  deleteSsoAdmins,
  deleteSsoAdminsByEmail,
  deleteSsoSessions,
  insertRequest,
  insertUsedMessage,
  upsertSsoAdmin,
} from '../../src/accounts/sso/saml/store-saml.ts'
import { deleteSsoRow, updateSsoRow } from '../../src/accounts/sso/store.ts'
import { deleteToken, updateToken } from '../../src/accounts/tokens/store.ts'
import type { Tx } from '../../src/platform/database/db.ts'
import { databaseState } from '../support/database/database-state.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'

const privileges = [{ scope: 'org', role: 'admin' }] as const
const at = new Date()
const later = new Date(Date.now() + 3_600_000)

/** An organization with one row of each kind, and the scopes of another organization and of its administrator. */
interface World {
  readonly org: TestOrg
  readonly invite: Awaited<ReturnType<typeof firstInvite>>
  readonly sso: Awaited<ReturnType<typeof firstSso>>
  readonly role: Awaited<ReturnType<typeof firstRole>>
  readonly orgTokenId: string
  readonly ownTokenId: string
  readonly ssoAdminId: string
  readonly sessionHash: Buffer
  readonly passwordHash: string
  readonly foreignOrg: OrgScope
  readonly foreignAdmin: AdminScope
}

let server: TestServer
let world: World

const firstInvite = () => server.ctx.db.selectFrom('invite').selectAll().executeTakeFirstOrThrow()
const firstSso = () => server.ctx.db.selectFrom('sso').selectAll().executeTakeFirstOrThrow()
const firstRole = () => server.ctx.db.selectFrom('ssoRole').selectAll().executeTakeFirstOrThrow()

beforeAll(async () => {
  server = await startTestServer()
  const { org } = server
  const post = async (path: string, body: unknown) => {
    const made = await server.call('POST', path, { body })
    expect(made.status).toBe(200)
    return made.body
  }
  await post(`/orgs/${org.orgId}/invites`, { email: 'guest@example.test', privileges })
  await post(`/orgs/${org.orgId}/ssos`, { name: 'Company' })
  await post(`/orgs/${org.orgId}/ssoroles`, { name: 'admin', privileges })
  const orgToken = await post(`/orgs/${org.orgId}/apitokens`, { name: 'Ours', privileges })
  const sso = await firstSso()
  const scope = systemScope('accounts', org.orgId)
  const person = { ssoId: sso.id, subject: 'bob', email: 'bob@example.test', firstName: 'Bob', lastName: 'B', at }
  const sessionHash = randomBytes(32)
  const { db } = server.ctx
  const { id: ssoAdminId } = await db.transaction().execute(async (tx) => {
    await insertRequest(tx, scope, {
      id: '_request',
      ssoId: sso.id,
      boundHash: sessionHash,
      forward: null,
      expiresAt: later,
    })
    return upsertSsoAdmin(tx, scope, person)
  })
  await db
    .insertInto('session')
    .values({
      idHash: sessionHash,
      adminId: ssoAdminId,
      createdAt: at,
      expiresAt: later,
      secondFactorMissing: true,
      secondFactorPassed: false,
      ssoId: sso.id,
      ssoSession: 'session',
      lastSeenAt: at,
      passwordAt: null,
      provedAt: at,
      srcIp: null,
      userAgent: null,
    })
    .execute()
  const ownToken = await db
    .selectFrom('apiToken')
    .select('id')
    .where('adminId', '=', org.adminId)
    .executeTakeFirstOrThrow()
  const admin = await db
    .selectFrom('admin')
    .select('passwordHash')
    .where('id', '=', org.adminId)
    .executeTakeFirstOrThrow()
  const foreign = await server.addOrg()
  world = {
    org,
    sso,
    ssoAdminId,
    sessionHash,
    invite: await firstInvite(),
    role: await firstRole(),
    orgTokenId: orgToken.id,
    ownTokenId: ownToken.id,
    passwordHash: admin.passwordHash ?? '',
    foreignOrg: systemScope('accounts', foreign.orgId),
    foreignAdmin: adminScope(foreign.adminId),
  }
})
afterAll(() => server.close())

const change = { name: 'Changed', privileges: [], srcIps: null }

it.each<[string, (tx: Tx, of: World) => Promise<unknown>]>([
  ['updateInviteRow', (tx, { foreignOrg, invite }) => updateInviteRow(tx, foreignOrg, { ...invite, email: 'x@y.z' })],
  ['deleteInviteRow', (tx, { foreignOrg, invite }) => deleteInviteRow(tx, foreignOrg, invite.id)],
  ['deletePrivileges', (tx, { foreignOrg, org }) => deletePrivileges(tx, foreignOrg, org.adminId)],
  [
    'updateTokenPrivileges',
    (tx, { foreignOrg, orgTokenId }) => updateTokenPrivileges(tx, foreignOrg, { id: orgTokenId, left: [] }),
  ],
  [
    'deleteTokens',
    (tx, { foreignOrg, orgTokenId, ownTokenId }) => deleteTokens(tx, foreignOrg, [orgTokenId, ownTokenId]),
  ],
  ['updateToken', (tx, { foreignOrg, orgTokenId }) => updateToken(tx, foreignOrg, { id: orgTokenId, ...change })],
  [
    'updateToken of a person',
    (tx, { foreignAdmin, ownTokenId }) => updateToken(tx, foreignAdmin, { id: ownTokenId, ...change }),
  ],
  ['deleteToken', (tx, { foreignOrg, orgTokenId }) => deleteToken(tx, foreignOrg, orgTokenId)],
  ['deleteToken of a person', (tx, { foreignAdmin, ownTokenId }) => deleteToken(tx, foreignAdmin, ownTokenId)],
  ['updateSsoRow', (tx, { foreignOrg, sso }) => updateSsoRow(tx, foreignOrg, { ...sso, doc: { name: 'Changed' } })],
  ['deleteSsoRow', (tx, { foreignOrg, sso }) => deleteSsoRow(tx, foreignOrg, sso.id)],
  ['updateSsoRoleRow', (tx, { foreignOrg, role }) => updateSsoRoleRow(tx, foreignOrg, { ...role, ...change })],
  ['deleteSsoRoleRow', (tx, { foreignOrg, role }) => deleteSsoRoleRow(tx, foreignOrg, role.id)],
  ['deleteSsoAdmins', (tx, { foreignOrg, sso }) => deleteSsoAdmins(tx, foreignOrg, sso.id)],
  [
    'deleteSsoAdminsByEmail',
    (tx, { foreignOrg, sso }) =>
      deleteSsoAdminsByEmail(tx, foreignOrg, { ssoId: sso.id, emails: ['bob@example.test'] }),
  ],
  [
    'deleteSsoSessions',
    (tx, { foreignOrg, sso, ssoAdminId }) =>
      deleteSsoSessions(tx, foreignOrg, { ssoId: sso.id, adminId: ssoAdminId, ssoSessions: [] }),
  ],
  ['consumeRequest', (tx, { foreignOrg, sso }) => consumeRequest(tx, foreignOrg, { id: '_request', ssoId: sso.id })],
  [
    'completeSession',
    (tx, { foreignAdmin, sessionHash }) =>
      completeSession(tx, foreignAdmin, { idHash: sessionHash, expiresAt: at, provedAt: at }),
  ],
  [
    'updatePasswordHash',
    (tx, { foreignAdmin, passwordHash }) => updatePasswordHash(tx, foreignAdmin, { from: passwordHash, to: 'x' }),
  ],
])("%s changes nothing with another organization's or person's scope", async (_name, act) => {
  const { db } = server.ctx
  const before = await databaseState(db)
  await db.transaction().execute((tx) => act(tx, world))
  expect(await databaseState(db)).toEqual(before)
})

it.each<[string, (tx: Tx, of: World) => Promise<unknown>]>([
  [
    'insertRequest',
    (tx, { foreignOrg, sso }) =>
      insertRequest(tx, foreignOrg, {
        id: '_other',
        ssoId: sso.id,
        boundHash: randomBytes(32),
        forward: null,
        expiresAt: later,
      }),
  ],
  [
    'insertUsedMessage',
    (tx, { foreignOrg, sso }) =>
      insertUsedMessage(tx, foreignOrg, { ssoId: sso.id, assertionId: uuidv7(), expiresAt: later }),
  ],
  [
    'upsertSsoAdmin',
    (tx, { foreignOrg, sso }) =>
      upsertSsoAdmin(tx, foreignOrg, {
        ssoId: sso.id,
        subject: 'bob',
        email: 'eve@example.test',
        firstName: 'Eve',
        lastName: 'E',
        at,
      }),
  ],
])('%s refuses the SSO of another organization', async (_name, act) => {
  const { db } = server.ctx
  const before = await databaseState(db)
  await expect(db.transaction().execute((tx) => act(tx, world))).rejects.toThrow(/null value|check constraint/)
  expect(await databaseState(db)).toEqual(before)
})
