import type { Role } from '../../src/access/principal.ts'
import type { WirePrivilege } from '../../src/access/tables.ts'
import { createBrowser } from '../support/peers/browser.ts'
import { addSite } from '../support/fleets/devices.ts'
import { addPerson } from '../support/people.ts'
import type { TestOrg, TestServer } from '../support/servers/server.ts'
import { type Ids, create } from './area.ts'

export const roles = ['admin', 'write', 'read', 'helpdesk', 'installer'] as const satisfies readonly Role[]

/** The place of a caller's role, or the kind of their credentials. */
export const standings = [
  'whole organization',
  'all sites',
  'site group',
  'one site',
  'another site',
  'stranger',
  'half session',
  'organization token',
] as const
export type Standing = (typeof standings)[number]

/** A role somewhere, with its credentials. */
export interface TestCaller {
  readonly role: Role
  readonly standing: Standing
  readonly headers: Record<string, string>
}

/** Adds one caller for each role and standing towards the first organization and its site `site_id`. */
export async function addCallers(server: TestServer, { site_id: siteId = '' }: Ids): Promise<TestCaller[]> {
  const { orgId } = server.org
  const group = await create(server, `/orgs/${orgId}/sitegroups`, { name: 'Of the matrix', site_ids: [siteId] })
  const anotherSite = await addSite(server, 'Another')
  const callers: TestCaller[] = []
  for (const role of roles) {
    const add = async (privilege: Omit<WirePrivilege, 'role'>) => addPerson(server, [{ ...privilege, role }])
    const inOrg = await add({ scope: 'org' })
    const headers: Record<Standing, Record<string, string>> = {
      'whole organization': tokenHeaders(inOrg),
      'all sites': tokenHeaders(await add({ scope: 'orgsites' })),
      'site group': tokenHeaders(await add({ scope: 'sitegroup', sitegroup_id: group })),
      'one site': tokenHeaders(await add({ scope: 'site', site_id: siteId })),
      'another site': tokenHeaders(await add({ scope: 'site', site_id: anotherSite })),
      stranger: tokenHeaders(await addStranger(server, role)),
      'half session': await openHalfSession(server, inOrg),
      'organization token': tokenHeaders({ token: await createOrgToken(server, role) }),
    }
    callers.push(...standings.map((standing) => ({ role, standing, headers: headers[standing] })))
  }
  return callers
}

function tokenHeaders({ token }: Pick<TestOrg, 'token'>): Record<string, string> {
  return { authorization: `Token ${token}` }
}

async function addStranger(server: TestServer, role: Role): Promise<TestOrg> {
  const stranger = await server.addOrg('Stranger')
  await server.ctx.db.updateTable('privilege').set({ role }).where('adminId', '=', stranger.adminId).execute()
  return stranger
}

/** Logs in with only the password although the account has a second factor. */
async function openHalfSession(
  server: TestServer,
  { adminId, email, password }: TestOrg,
): Promise<Record<string, string>> {
  const { db, clock } = server.ctx
  await db.updateTable('admin').set({ totpSince: clock.now() }).where('id', '=', adminId).execute()
  const browser = createBrowser(server)
  await browser.login(email, password)
  const answer = await browser.call('GET', '/self')
  if (answer.body.two_factor_passed !== false) throw new Error(`Not a half session: ${JSON.stringify(answer.body)}`)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return { cookie, 'x-csrftoken': browser.cookies.get('csrftoken') ?? '' }
}

async function createOrgToken(server: TestServer, role: Role): Promise<string> {
  const body = { name: `Of ${role}`, privileges: [{ scope: 'org', role }] }
  const answer = await server.call('POST', `/orgs/${server.org.orgId}/apitokens`, { body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.key
}
