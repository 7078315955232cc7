import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepInvites } from '../../src/accounts/admins/sweep-invites.ts'
import { addSite } from '../support/fleets/devices.ts'
import { mailsTo, tokenIn, waitForMail } from '../support/peers/mails.ts'
import { addPerson, addPrivilege, makeSsoAdmin } from '../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

const HOUR_MS = 3600e3

let clock: TestClock
let server: TestServer
let invites: string
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  invites = `/orgs/${server.org.orgId}/invites`
})
afterAll(() => server.close())

const readAll = [{ scope: 'org', role: 'read' }]
const newAddress = () => `${randomUUID()}@example.test`

async function invite(email: string, fields: object = {}, as = server.org): Promise<Answer['body']> {
  const answer = await server.call('POST', invites, { as, body: { email, privileges: readAll, ...fields } })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}

async function tokenOf(email: string, count = 1): Promise<string> {
  return tokenIn(await waitForMail(server.dataDir, email, count))
}

const accept = (as: TestOrg | null, token: string) => server.call('POST', `/invite/verify/${token}`, { as })
const roleOf = async (as: TestOrg) =>
  (await server.call('GET', '/self', { as })).body.privileges.find(
    ({ org_id }: { org_id: string }) => org_id === server.org.orgId,
  )?.role

describe('an invitation', () => {
  it('is mailed to its address and grants its privileges', async () => {
    const guest = await server.addOrg('Guest')
    const created = await invite(guest.email.toUpperCase(), { first_name: 'Ada', hours: 48 })
    expect(created).toEqual({
      id: expect.any(String),
      org_id: server.org.orgId,
      email: guest.email,
      first_name: 'Ada',
      hours: 48,
      privileges: [
        { scope: 'org', role: 'read', org_id: server.org.orgId, org_name: 'Test', name: 'Test', orggroup_ids: [] },
      ],
      created_time: clock.now().getTime() / 1000,
      expire_time: (clock.now().getTime() + 48 * HOUR_MS) / 1000,
    })
    const mail = await waitForMail(server.dataDir, guest.email)
    expect(mail.text).toContain(`${server.url}/verify/invite?token=`)
    expect(mail.text).toContain(server.org.email)
    expect(mail.html).not.toMatch(/<img|src=/)
    expect(await accept(guest, tokenIn(mail))).toMatchObject({ status: 200, body: {} })
    expect(await roleOf(guest)).toBe('read')
    // It works once.
    expect((await accept(guest, tokenIn(mail))).status).toBe(404)
    expect((await server.call('GET', invites)).body).not.toContainEqual(expect.objectContaining({ id: created.id }))
  })

  it('is accepted once, however many requests come at the same time', async () => {
    const guest = await server.addOrg('Guest')
    await invite(guest.email)
    await invite(guest.email)
    const tokens = await waitUntil('both mails', async () => {
      const mails = await mailsTo(server.dataDir, guest.email)
      return mails.length === 2 && mails.map(tokenIn)
    })
    const answers = await Promise.all([...tokens, ...tokens, ...tokens].map((token) => accept(guest, token)))
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    const held = server.ctx.db.selectFrom('privilege').select('role').where('adminId', '=', guest.adminId)
    expect(await held.where('orgId', '=', server.org.orgId).execute()).toEqual([{ role: 'read' }])
  })

  it('is recorded in its organization without its token, and nowhere else', async () => {
    const guest = await server.addOrg('Guest')
    await invite(guest.email)
    const token = await tokenOf(guest.email)
    await accept(guest, token)
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1000`)
    for (const what of ['Invite Admin', 'Accept Invite of'])
      expect(logs.body.results).toContainEqual(expect.objectContaining({ message: `${what} "${guest.email}"` }))
    expect(JSON.stringify(logs.body)).not.toContain(token)
    const theirs = await server.call('GET', `/orgs/${guest.orgId}/logs`, { as: guest })
    expect(JSON.stringify(theirs.body)).not.toContain('Invite')
  })

  it('does not work for a person to whom it was forwarded', async () => {
    const guest = await server.addOrg('Guest')
    const thief = await server.addOrg('Thief')
    await invite(guest.email)
    const token = await tokenOf(guest.email)
    expect((await accept(null, token)).status).toBe(401)
    expect(await accept(thief, token)).toMatchObject({ status: 403 })
    expect(await roleOf(thief)).toBeUndefined()
    expect((await accept(guest, token)).status).toBe(200)
  })

  it('is refused to accounts whose address an identity provider has named', async () => {
    const guest = await server.addOrg('Guest')
    await invite(guest.email)
    await makeSsoAdmin(server, guest)
    expect((await accept(guest, await tokenOf(guest.email))).status).toBe(403)
  })

  it('is refused to tokens of organizations', async () => {
    const created = await server.call('POST', `/orgs/${server.org.orgId}/apitokens`, {
      body: { name: 'x', privileges: [{ scope: 'org', role: 'admin' }] },
    })
    const as = { ...server.org, token: created.body.key }
    expect((await accept(as, 'whatever')).status).toBe(403)
    // They may invite, though, within their own privileges and only while they exist.
    const guest = await server.addOrg('Guest')
    await invite(guest.email, {}, as)
    await server.call('DELETE', `/orgs/${server.org.orgId}/apitokens/${created.body.id}`)
    expect((await accept(guest, await tokenOf(guest.email))).status).toBe(400)
  })

  it('expires after its hours, and is deleted a month later', async () => {
    const guest = await server.addOrg('Guest')
    const { id } = await invite(guest.email, { hours: 1 })
    const token = await tokenOf(guest.email)
    clock.advance(HOUR_MS)
    expect(await accept(guest, token)).toMatchObject({ status: 400, body: { detail: 'expired' } })
    const find = async () => server.ctx.db.selectFrom('invite').select('id').where('id', '=', id).executeTakeFirst()
    await sweepInvites(server.ctx)
    expect(await find()).toBeDefined()
    clock.advance(30 * 24 * HOUR_MS + 1)
    await sweepInvites(server.ctx)
    expect(await find()).toBeUndefined()
    expect((await accept(guest, token)).status).toBe(404)
  })

  it('gets the same reply whether or not the address has an account', async () => {
    const known = await invite((await server.addOrg('Known')).email)
    const unknown = await invite(newAddress())
    const shape = ({ id: _, email: __, ...rest }: Record<string, unknown>) => rest
    expect(shape(known)).toEqual(shape(unknown))
  })

  it('sends at most three mails an hour to an address', async () => {
    const email = newAddress()
    for (let count = 0; count < 4; count += 1) await invite(email)
    await waitForMail(server.dataDir, email, 3)
    // A mail to another address arrives after a fourth mail would have.
    const witness = newAddress()
    await invite(witness)
    await waitForMail(server.dataDir, witness)
    expect(await mailsTo(server.dataDir, email)).toHaveLength(3)
  })

  it.each([
    ['no address', { email: undefined }],
    ['a malformed address', { email: 'a b@c' }],
    ['an address with markup', { email: '<a>@example.test' }],
    ['a long address', { email: `${'a'.repeat(60)}@example.test` }],
    ['no privileges', { privileges: [] }],
    ['too many hours', { hours: 169 }],
    ['hours that are not a number', { hours: '24' }],
    ['an unknown role', { privileges: [{ scope: 'org', role: 'owner' }] }],
  ])('is refused with %s', async (_what, fields) => {
    const body = { email: newAddress(), privileges: readAll, ...fields }
    expect((await server.call('POST', invites, { body })).status).toBe(400)
  })

  it('is refused for the address of an admin', async () => {
    expect(
      (await server.call('POST', invites, { body: { email: server.org.email, privileges: readAll } })).status,
    ).toBe(400)
    // The account may become a member in another way before it accepts.
    const guest = await server.addOrg('Guest')
    await invite(guest.email)
    await makeMember(guest)
    expect((await accept(guest, await tokenOf(guest.email))).status).toBe(400)
  })

  async function makeMember({ adminId }: TestOrg): Promise<void> {
    await addPrivilege(server, { orgId: server.org.orgId, adminId }, { scope: 'org', role: 'read' })
  }
})

describe('inviting an address again', () => {
  const openTo = async (email: string) =>
    (await server.call('GET', invites)).body.filter((open: { email: string }) => open.email === email)
  const writeAll = [{ scope: 'org', role: 'write' }]

  it('renews the one invitation, with the last content and link', async () => {
    const guest = await server.addOrg('Guest')
    const first = await invite(guest.email, { first_name: 'Ada', hours: 48 })
    const second = await invite(guest.email.toUpperCase(), { privileges: writeAll })
    expect(second).toMatchObject({ id: first.id, hours: 24, privileges: [{ role: 'write' }] })
    expect(second).not.toHaveProperty('first_name')
    expect(await openTo(guest.email)).toEqual([second])
    await waitForMail(server.dataDir, guest.email, 2)
    const [former, last] = (await mailsTo(server.dataDir, guest.email)).map(tokenIn)
    expect((await accept(guest, former ?? '')).status).toBe(404)
    expect((await accept(guest, last ?? '')).status).toBe(200)
    expect(await roleOf(guest)).toBe('write')
  })

  it('renews an expired invitation', async () => {
    const email = newAddress()
    const { id } = await invite(email, { hours: 1 })
    clock.advance(HOUR_MS)
    expect(await invite(email)).toMatchObject({ id })
  })

  it('makes one invitation, however many requests come at the same time', async () => {
    const email = newAddress()
    await Promise.all(Array.from({ length: 5 }, () => invite(email)))
    expect(await openTo(email)).toHaveLength(1)
  })

  it('does not block an acceptance at the same time', async () => {
    const guest = await server.addOrg('Guest')
    await invite(guest.email)
    const token = await tokenOf(guest.email)
    const body = { email: guest.email, privileges: readAll }
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, place) =>
        place % 2 === 0 ? server.call('POST', invites, { body }) : accept(guest, token),
      ),
    )
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    expect(await openTo(guest.email)).toHaveLength(answers[1]?.status === 200 ? 0 : 1)
  })

  it('leaves the last mailed link valid once no more mails are sent to the address', async () => {
    const guest = await server.addOrg('Guest')
    for (let count = 0; count < 4; count += 1) await invite(guest.email)
    await waitForMail(server.dataDir, guest.email, 3)
    const mails = await mailsTo(server.dataDir, guest.email)
    const answers = await Promise.all(mails.map((mail) => accept(guest, tokenIn(mail))))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it('is refused to those who may not grant what it grants, until it has expired', async () => {
    const siteId = await addSite(server, 'Theirs')
    const as = await addPerson(server, [{ scope: 'site', role: 'admin', site_id: siteId }])
    const guest = await server.addOrg('Guest')
    const { id } = await invite(guest.email, { privileges: writeAll, hours: 1 })
    const body = { email: guest.email, privileges: [{ scope: 'site', role: 'read', site_id: siteId }] }
    expect(await server.call('POST', invites, { as, body })).toMatchObject({
      status: 400,
      body: { detail: 'Invalid field email: is invited already, with privileges that you do not have' },
    })
    expect(await openTo(guest.email)).toMatchObject([{ id, privileges: [{ role: 'write' }] }])
    clock.advance(HOUR_MS)
    expect(await server.call('POST', invites, { as, body })).toMatchObject({ status: 200, body: { id } })
  })
})

describe('what the inviter may grant', () => {
  it.each(['write', 'read', 'helpdesk', 'installer'] as const)('%s invites nobody', async (role) => {
    const as = await addPerson(server, [{ scope: 'org', role }])
    const body = { email: newAddress(), privileges: readAll }
    expect((await server.call('POST', invites, { as, body })).status).toBe(403)
  })

  it('is limited to the sites that they administer', async () => {
    const siteId = await addSite(server, 'Theirs')
    const as = await addPerson(server, [{ scope: 'site', role: 'admin', site_id: siteId }])
    const refused = { email: newAddress(), privileges: readAll }
    expect((await server.call('POST', invites, { as, body: refused })).status).toBe(403)
    const guest = await server.addOrg('Guest')
    await invite(guest.email, { privileges: [{ scope: 'site', role: 'read', site_id: siteId }] }, as)
    expect((await accept(guest, await tokenOf(guest.email))).status).toBe(200)
    expect((await server.call('GET', `/sites/${siteId}`, { as: guest })).status).toBe(200)
  })

  it.each([
    [
      'was demoted',
      async ({ adminId }: TestOrg) =>
        server.ctx.db.updateTable('privilege').set({ role: 'helpdesk' }).where('adminId', '=', adminId).execute(),
    ],
    [
      'was revoked',
      async ({ adminId }: TestOrg) => server.call('DELETE', `/orgs/${server.org.orgId}/admins/${adminId}`),
    ],
    ['is gone', async ({ adminId }: TestOrg) => server.ctx.db.deleteFrom('admin').where('id', '=', adminId).execute()],
  ])('is nothing once the inviter %s', async (_what, change) => {
    const inviter = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    const guest = await server.addOrg('Guest')
    await invite(guest.email, { privileges: [{ scope: 'org', role: 'write' }] }, inviter)
    const token = await tokenOf(guest.email)
    await change(inviter)
    expect((await accept(guest, token)).status).toBe(400)
    expect(await roleOf(guest)).toBeUndefined()
  })
})

describe('changing an invitation', () => {
  it('sends it again, and the old link stops working', async () => {
    const guest = await server.addOrg('Guest')
    const { id, email } = await invite(guest.email)
    const first = await tokenOf(email)
    for (const [field, value] of Object.entries({ email: newAddress(), expire_time: 7, phone: '1' }))
      expect(await server.call('PUT', `${invites}/${id}`, { body: { [field]: value } })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
      })
    const body = { privileges: [{ scope: 'org', role: 'helpdesk' }], email }
    expect((await server.call('PUT', `${invites}/${id}`, { body })).body).toMatchObject({ email, hours: 24 })
    const second = await tokenOf(email, 2)
    expect((await accept(guest, first)).status).toBe(404)
    expect((await accept(guest, second)).status).toBe(200)
    expect(await roleOf(guest)).toBe('helpdesk')
  })

  it('can withdraw it', async () => {
    const guest = await server.addOrg('Guest')
    const { id } = await invite(guest.email)
    const token = await tokenOf(guest.email)
    expect(await server.call('DELETE', `${invites}/${id}`)).toMatchObject({ status: 200, body: {} })
    expect((await server.call('DELETE', `${invites}/${id}`)).status).toBe(404)
    expect((await accept(guest, token)).status).toBe(404)
  })
})

describe('the page behind the link', () => {
  it('changes nothing by being opened, and is the same for every token', async () => {
    const guest = await server.addOrg('Guest')
    await invite(guest.email)
    const token = await tokenOf(guest.email)
    const open = async (value: string) => fetch(`${server.url}/verify/invite?token=${value}`)
    const answer = await open(token)
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    const withoutNonce = (text: string) => text.replaceAll(/nonce="[^"]*"/g, '')
    const text = await answer.text()
    expect(text).not.toContain(token)
    expect(withoutNonce(text)).toBe(withoutNonce(await (await open('"><script>alert(1)</script>')).text()))
    expect((await accept(guest, token)).status).toBe(200)
  })
})
