import { uuidv7 } from 'uuidv7'
import { expect } from 'vitest'
import type { WirePrivilege } from '../../src/access/tables.ts'
import { codeAt, createBrowser } from './peers/browser.ts'
import type { TestOrg, TestServer } from './servers/server.ts'

/** Adds a person with these privileges in the first organization, and without an organization of their own. */
export async function addPerson(server: TestServer, privileges: readonly WirePrivilege[]): Promise<TestOrg> {
  const person = await server.addOrg('Left behind')
  await server.ctx.db.deleteFrom('privilege').where('adminId', '=', person.adminId).execute()
  for (const privilege of privileges)
    await addPrivilege(server, { orgId: server.org.orgId, adminId: person.adminId }, privilege)
  return person
}

/** Adds a privilege in the organization to those that the account has. */
export async function addPrivilege(
  { ctx }: Pick<TestServer, 'ctx'>,
  { orgId, adminId }: Pick<TestOrg, 'orgId' | 'adminId'>,
  privilege: WirePrivilege,
): Promise<void> {
  const { scope, role, site_id: siteId = null, sitegroup_id: sitegroupId = null } = privilege
  await ctx.db
    .insertInto('privilege')
    .values({ orgId, id: uuidv7(), adminId, scope, role, siteId, sitegroupId })
    .execute()
}

/** Turns the account into one of an identity provider. */
export async function makeSsoAdmin(server: TestServer, { adminId }: TestOrg): Promise<void> {
  await server.ctx.db
    .updateTable('admin')
    .set({ ssoId: uuidv7(), ssoSubject: adminId, passwordHash: null })
    .where('id', '=', adminId)
    .execute()
}

/** @returns The secret of the authenticator app. */
export async function enableSecondFactor(server: TestServer, person: TestOrg): Promise<string> {
  const own = createBrowser(server)
  await own.login(person.email, person.password)
  const { body } = await own.call('GET', '/self/two_factor/token')
  const secret: string = body.two_factor_secret
  const verified = await own.call('POST', '/self/two_factor/verify', { two_factor: codeAt(secret, new Date()) })
  expect(verified.status).toBe(200)
  return secret
}
