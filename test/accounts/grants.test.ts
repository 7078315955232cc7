import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { json } from '../../src/platform/database/db.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { addPerson } from '../support/people.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const privileges = [{ scope: 'org', role: 'admin' }]
const content = { name: 'Back door', privileges }

describe('an admin who is demoted during a request', () => {
  it.each([
    ['makes a token', 'POST', 'apitokens', content],
    ['invites', 'POST', 'invites', { email: 'friend@example.test', privileges }],
    ['makes a role of single sign-on', 'POST', 'ssoroles', content],
    ['makes an SSO', 'POST', 'ssos', { name: 'Back door' }],
    ['changes privileges', 'PUT', 'admins/FRIEND', { privileges }],
    ['changes an SSO', 'PUT', 'ssos/SSO', { issuer: 'https://evil.example' }],
  ])('grants nothing any more: %s', async (_what, method, path, body) => {
    const org = await server.addOrg()
    const inOrg = { ...server, org }
    const caller = await addPerson(inOrg, [{ scope: 'org', role: 'admin' }])
    const friend = await addPerson(inOrg, [{ scope: 'org', role: 'read' }])
    const sso = await server.call('POST', `/orgs/${org.orgId}/ssos`, { as: org, body: { name: 'Company' } })
    const place = path.replace('FRIEND', friend.adminId).replace('SSO', sso.body.id)
    const { answer } = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('org').select('id').where('id', '=', org.orgId).forUpdate().execute()
      const asked = server.call(method, `/orgs/${org.orgId}/${place}`, { as: caller, body })
      await untilWaiting(server, 1)
      await tx.deleteFrom('privilege').where('adminId', '=', caller.adminId).execute()
      return { answer: asked }
    })
    expect((await answer).status).toBe(403)
  })
})

describe('a grant for a deleted site', () => {
  it('is not given by an invitation, and the audit log does not claim so', async () => {
    const [org, guest] = [await server.addOrg(), await server.addOrg()]
    const call = (method: string, place: string, body?: unknown) =>
      server.call(method, `/orgs/${org.orgId}/${place}`, { as: org, body })
    const [short, lasting] = [await call('POST', 'sites', { name: 'A' }), await call('POST', 'sites', { name: 'B' })]
    const privileges = [short, lasting].map(({ body }) => ({ scope: 'site', role: 'read', site_id: body.id }))
    await call('POST', 'invites', { email: guest.email, privileges })
    await server.ctx.db.deleteFrom('site').where('id', '=', short.body.id).execute()
    const token = tokenIn(await waitForMail(server.dataDir, guest.email))
    expect((await server.call('POST', `/invite/verify/${token}`, { as: guest })).status).toBe(200)
    const { body: logs } = await call('GET', 'logs')
    expect(logs.results[0]).toMatchObject({
      message: `Accept Invite of "${guest.email}"`,
      after: { privileges: privileges.slice(1) },
    })
  })

  it.each([
    ['a token', 'apitokens', { name: 'x' }, { name: 'y' }],
    ['a role of single sign-on', 'ssoroles', { name: 'x' }, { name: 'y' }],
    ['an invitation', 'invites', { email: 'friend@example.test' }, { first_name: 'Y' }],
  ])('does not block other changes of %s', async (_what, path, fields, change) => {
    const org = await server.addOrg()
    const call = (method: string, place: string, body: unknown) =>
      server.call(method, `/orgs/${org.orgId}/${place}`, { as: org, body })
    const { body: site } = await call('POST', 'sites', { name: 'Short' })
    const here = [{ scope: 'site', role: 'read', site_id: site.id }]
    const made = await call('POST', path, { ...fields, privileges: here })
    await server.ctx.db.deleteFrom('site').where('id', '=', site.id).execute()
    expect(await call('PUT', `${path}/${made.body.id}`, change)).toMatchObject({ status: 200, body: change })
    expect((await call('PUT', `${path}/${made.body.id}`, { privileges: here })).status).toBe(404)
  })

  it('that was given while the deletion waited is taken back by it', async () => {
    const org = await server.addOrg()
    const { body: site } = await server.call('POST', `/orgs/${org.orgId}/sites`, { as: org, body: { name: 'Short' } })
    const lasting = { scope: 'org' as const, role: 'read' as const }
    const role = { orgId: org.orgId, id: randomUUID(), name: 'Late', createdAt: new Date(), modifiedAt: new Date() }
    const privileges = [lasting, { scope: 'site' as const, role: 'write' as const, site_id: site.id }]
    const { answer } = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('org').select('id').where('id', '=', org.orgId).forUpdate().execute()
      const asked = server.call('DELETE', `/sites/${site.id}`, { as: org })
      await untilWaiting(server, 1)
      await tx
        .insertInto('ssoRole')
        .values({ ...role, privileges: json(privileges) })
        .execute()
      return { answer: asked }
    })
    expect(await answer).toMatchObject({ status: 200, body: {} })
    const { body } = await server.call('GET', `/orgs/${org.orgId}/ssoroles/${role.id}`, { as: org })
    expect(body.privileges).toEqual([{ ...lasting, org_id: org.orgId }])
  })
})
