import { describe, expect, it } from 'vitest'
import { type Browser, createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { mailsTo, tokenIn, waitForMail } from '../support/peers/mails.ts'
import { useBrowser } from '../support/peers/use-browser.ts'
import { addPrivilege } from '../support/people.ts'

const MINUTE_MS = 60_000
const newPassword = 'a horse of another colour'

const desk = useBrowser({ isSignedIn: true, settings: { requestsPerHour: 500 } })

const messagesOf = ({ body }: { body: { results: { message: string }[] } }) =>
  body.results.map(({ message }) => message)

describe('the account record', () => {
  it('changes and unsets the named fields', async () => {
    const first = { first_name: 'Dorothea', last_name: 'Brooke', phone: '+44 1', no_tracking: true }
    expect(await desk.browser.call('PUT', '/self', first)).toMatchObject({ status: 200, body: first })
    const second = await desk.browser.call('PUT', '/self', { phone2: '+44 2', '-phone': '' })
    expect(second.body).toMatchObject({ first_name: 'Dorothea', phone2: '+44 2', no_tracking: true })
    expect(second.body.phone).toBeUndefined()
    expect((await desk.browser.call('GET', '/self')).body).toEqual(second.body)
    expect(messagesOf(await desk.browser.call('GET', '/self/logs'))).toEqual([
      'Update account',
      'Update account',
      'Login',
    ])
  })

  it('takes back what it answered, and changes nothing that is not the owner’s', async () => {
    const { body: before } = await desk.browser.call('GET', '/self')
    const other = await desk.server.addOrg()
    const refused = {
      ...{ via_sso: true, password_hash: 'x', sso_id: other.orgId, profile: { x: 1 }, is_superuser: true },
      email: 'evil@example.test',
      admin_id: other.adminId,
      privileges: [{ scope: 'org', role: 'admin', org_id: other.orgId }],
      enable_two_factor: true,
      tags: ['vip'],
      password_modified_time: 1,
      compliance_status: 'blocked',
    }
    for (const [field, value] of Object.entries(refused))
      expect(await desk.browser.call('PUT', '/self', { ...before, [field]: value })).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
      })
    expect((await desk.browser.call('PUT', '/self', { ...before, tags: [] })).body).toEqual(before)
    expect((await desk.browser.call('PUT', '/self', before)).body).toEqual(before)
    expect((await desk.browser.call('GET', '/self')).body).toEqual(before)
    expect((await desk.browser.call('GET', `/orgs/${other.orgId}`)).status).toBe(404)
  })

  it.each([
    ['a number', { first_name: 7 }],
    ['a name that is too long', { first_name: 'x'.repeat(201) }],
    ['a text', { no_tracking: 'yes' }],
  ])('refuses %s', async (_what, body) => {
    expect((await desk.browser.call('PUT', '/self', body)).status).toBe(400)
  })

  it('is not available to tokens of organizations', async () => {
    const privileges = [{ scope: 'org', role: 'admin' }]
    const made = await desk.server.call('POST', `/orgs/${desk.org.orgId}/apitokens`, {
      as: desk.org,
      body: { name: 't', privileges },
    })
    expect(made.status).toBe(200)
    const as = { ...desk.org, token: made.body.key }
    for (const [method, path] of [
      ['PUT', '/self'],
      ['DELETE', '/self'],
      ['GET', '/self/logs'],
      ['GET', '/self/login_failures'],
      ['GET', '/self/two_factor/token'],
    ] as const)
      expect([path, (await desk.server.call(method, path, { as })).status]).toEqual([path, 403])
  })
})

describe('a new password', () => {
  const change = (who: Browser, body: object) => who.call('PUT', '/self', body)

  it('ends the other sessions and notifies the owner', async () => {
    const other = createBrowser(desk.server)
    await other.login(desk.org.email, desk.org.password)
    const answer = await change(desk.browser, { password: newPassword, old_password: desk.org.password })
    expect(answer.status).toBe(200)
    expect(answer.body.password_modified_time).toBe(desk.clock.now().getTime() / 1000)
    expect((await other.call('GET', '/self')).status).toBe(401)
    expect((await desk.browser.call('GET', '/self')).status).toBe(200)
    expect((await createBrowser(desk.server).login(desk.org.email, newPassword)).status).toBe(200)
    expect((await waitForMail(desk.server.dataDir, desk.org.email)).subject).toBe('Your password was changed')
    expect(JSON.stringify((await desk.browser.call('GET', '/self/logs')).body)).not.toContain(newPassword)
  })

  it('needs the old one, given now or at a login within the last minutes', async () => {
    expect((await change(desk.browser, { password: newPassword, old_password: 'wrong' })).status).toBe(400)
    desk.clock.advance(6 * MINUTE_MS)
    expect((await change(desk.browser, { password: newPassword })).status).toBe(403)
    const byToken = await desk.server.call('PUT', '/self', { as: desk.org, body: { password: newPassword } })
    expect(byToken.status).toBe(403)
    expect((await change(desk.browser, { password: newPassword, old_password: desk.org.password })).status).toBe(200)
  })

  it('limits guesses at the old one', async () => {
    const guess = (i: number) => change(desk.browser, { password: newPassword, old_password: `guess ${i}` })
    for (let i = 0; i < 5; i += 1) expect((await guess(i)).status).toBe(400)
    expect((await guess(5)).status).toBe(429)
  })

  it('must satisfy the rules of the organization', async () => {
    const password_policy = { enabled: true, min_length: 12, requires_special_char: true }
    await desk.server.call('PUT', `/orgs/${desk.org.orgId}/setting`, { as: desk.org, body: { password_policy } })
    expect((await change(desk.browser, { password: 'elevenchars' })).body.reason).toBe(
      'must have at least 12 characters',
    )
    expect((await change(desk.browser, { password: 'twelve chars' })).body.reason).toBe('must have a special character')
    expect((await change(desk.browser, { password: 'twelve-chars' })).status).toBe(200)
  })
})

describe('a new address', () => {
  const request = (email: string, who = desk.browser) => who.call('POST', '/self/update', { email })
  const confirm = (token: string) => desk.server.call('POST', `/self/update/verify/${token}`, { as: null })

  it('is set once the mailed link is used', async () => {
    const email = `new-${desk.org.email}`
    expect(await request(email.toUpperCase())).toSatisfy(isEmptyAnswer)
    const token = tokenIn(await waitForMail(desk.server.dataDir, email))
    expect((await desk.browser.call('GET', '/self')).body.email).toBe(desk.org.email)
    expect((await confirm(token)).status).toBe(200)
    expect((await desk.browser.call('GET', '/self')).body.email).toBe(email)
    expect((await createBrowser(desk.server).login(email, desk.org.password)).status).toBe(200)
    expect((await createBrowser(desk.server).login(desk.org.email, desk.org.password)).status).toBe(400)
    expect((await waitForMail(desk.server.dataDir, desk.org.email)).subject).toBe(
      'The address of your account was changed',
    )
    expect((await confirm(token)).status).toBe(404)
    const { body } = await desk.browser.call('GET', '/self/logs')
    expect(body.results).toContainEqual(
      expect.objectContaining({ before: { email: desk.org.email }, after: { email }, message: 'Change e-mail' }),
    )
  })

  it('can be confirmed by the published GET, but only by its account', async () => {
    const email = `new-${desk.org.email}`
    await request(email)
    const path = `/self/update/verify/${tokenIn(await waitForMail(desk.server.dataDir, email))}`
    expect((await desk.server.call('GET', path, { as: null })).status).toBe(401)
    expect((await desk.server.call('GET', path, { as: await desk.server.addOrg() })).status).toBe(404)
    expect((await desk.browser.call('GET', path)).status).toBe(200)
    expect((await desk.browser.call('GET', '/self')).body.email).toBe(email)
  })

  it('gets the same reply if it has an account, and only its owner gets a mail', async () => {
    const other = await desk.server.addOrg()
    expect(await request(other.email)).toSatisfy(isEmptyAnswer)
    const mail = await waitForMail(desk.server.dataDir, other.email)
    expect(mail.subject).toBe('You already have an account')
    expect(() => tokenIn(mail)).toThrow('no token')
  })

  it('is refused if another account took it meanwhile', async () => {
    const email = `new-${desk.org.email}`
    const other = createBrowser(desk.server)
    const otherOrg = await desk.server.addOrg()
    await other.login(otherOrg.email, otherOrg.password)
    await request(email)
    await request(email, other)
    const [mine, theirs] = await Promise.all([1, 2].map((n) => waitForMail(desk.server.dataDir, email, n)))
    if (mine === undefined || theirs === undefined) throw new Error('two mails')
    expect((await confirm(tokenIn(theirs))).status).toBe(200)
    expect((await confirm(tokenIn(mine))).status).toBe(400)
  })

  it('needs the password, and its link expires after a day', async () => {
    const email = `new-${desk.org.email}`
    const byToken = (body: object) =>
      desk.server.call('POST', '/self/update', { as: desk.org, body: { email, ...body } })
    expect((await byToken({})).status).toBe(403)
    expect((await byToken({ password: desk.org.password })).status).toBe(200)
    const token = tokenIn(await waitForMail(desk.server.dataDir, email))
    desk.clock.advance(24 * 60 * MINUTE_MS)
    expect(await confirm(token)).toMatchObject({ status: 400, body: { detail: 'expired' } })
  })

  it('is cancelled by a new password: an intruder may have requested it', async () => {
    const email = `new-${desk.org.email}`
    await request(email)
    const token = tokenIn(await waitForMail(desk.server.dataDir, email))
    expect((await desk.browser.call('PUT', '/self', { password: newPassword })).status).toBe(200)
    expect((await confirm(token)).status).toBe(404)
  })

  it.each(['', 'nobody', 'a@b@c', 'a@b.test\r\nBcc: c@d.test', '"><b>@example.test'])("can't be %j", async (email) => {
    expect((await request(email)).status).toBe(400)
    expect(await mailsTo(desk.server.dataDir, email)).toEqual([])
  })
})

describe('deleting the account', () => {
  const invite = async (): Promise<void> => {
    const other = await desk.server.addOrg()
    const place = { orgId: desk.org.orgId, adminId: other.adminId }
    await addPrivilege(desk.server, place, { scope: 'org', role: 'admin' })
  }

  it('leaves no organization without an administrator', async () => {
    expect(await desk.browser.call('DELETE', '/self')).toMatchObject({ status: 400, body: { org_id: desk.org.orgId } })
    await invite()
    expect((await desk.browser.call('DELETE', '/self')).status).toBe(200)
    expect([...desk.browser.cookies.keys()]).toEqual(['deviceid'])
    expect((await desk.browser.login(desk.org.email, desk.org.password)).status).toBe(400)
    expect((await desk.server.call('GET', '/self', { as: desk.org })).status).toBe(401)
  })

  it('needs the password', async () => {
    await invite()
    expect((await desk.server.call('DELETE', '/self', { as: desk.org })).status).toBe(403)
    desk.clock.advance(6 * MINUTE_MS)
    expect((await desk.browser.call('DELETE', '/self')).status).toBe(403)
    expect((await desk.browser.call('DELETE', '/self', { password: desk.org.password })).status).toBe(200)
  })
})

describe('the history of the account', () => {
  it('counts the calls within the hour', async () => {
    const usage = () => desk.server.call('GET', '/self/usage', { as: desk.org })
    const first = await usage()
    expect(first.body).toMatchObject({ request_limit: 500, requests: expect.any(Number), seconds: expect.any(Number) })
    expect((await usage()).body.requests).toBe(first.body.requests + 1)
  })

  it('also lists what the admin did in organizations, each entry once, in pages', async () => {
    await desk.browser.call('POST', `/orgs/${desk.org.orgId}/sites`, { name: 'Middlemarch' })
    desk.clock.advance(1000)
    await desk.browser.call('PUT', '/self', { first_name: 'Dorothea' })
    const { body, headers } = await desk.browser.call('GET', '/self/logs')
    expect(messagesOf({ body })).toEqual(['Update account', 'Add Site "Middlemarch"', 'Login'])
    expect(body).toMatchObject({ total: 3, page: 1, limit: 100 })
    expect(headers.get('x-page-total')).toBe('3')
    expect(body.results[1]).toMatchObject({ org_id: desk.org.orgId, admin_id: desk.org.adminId })
    // Clients fail if one of these ids is missing or null.
    const none = '00000000-0000-0000-0000-000000000000'
    expect(body.results[0]).toMatchObject({ org_id: none, site_id: none })
    expect(messagesOf(await desk.browser.call('GET', '/self/logs?limit=1&page=2'))).toEqual(['Add Site "Middlemarch"'])
    desk.clock.advance(86_400_000 - 500)
    expect(messagesOf(await desk.server.call('GET', '/self/logs', { as: desk.org }))).toEqual(['Update account'])
  })

  it('lists nothing about other people', async () => {
    const other = await desk.server.addOrg()
    expect(messagesOf(await desk.server.call('GET', '/self/logs', { as: other }))).toEqual([])
  })
})
