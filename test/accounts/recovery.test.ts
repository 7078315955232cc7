import { describe, expect, it } from 'vitest'
import { send } from '../../bench/support/hostile/call.ts'
import { networkAddress } from '../../bench/support/hostile/attack.ts'
import { consumeMailQuota } from '../../src/accounts/mail/mail-quota.ts'
import { openTx } from '../support/database/open-tx.ts'
import { codeAt, createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { mailsTo, tokenIn, waitForMail } from '../support/peers/mails.ts'
import { openPage } from '../support/peers/page.ts'
import { useBrowser } from '../support/peers/use-browser.ts'
import { waitUntil } from '../support/wait-until.ts'

const MINUTE_MS = 60_000
const newPassword = 'a horse of another colour'

const desk = useBrowser({ isSignedIn: false })

const recover = (email: string, headers = {}) =>
  desk.server.call('POST', '/recover', { as: null, body: { email }, headers })

async function mailedToken(count = 1): Promise<string> {
  expect(await recover(desk.org.email)).toSatisfy(isEmptyAnswer)
  return tokenIn(await waitForMail(desk.server.dataDir, desk.org.email, count))
}

const reset = (token: string, password?: string) =>
  desk.browser.call('POST', `/recover/verify/${token}`, password === undefined ? '' : { password })

describe('recovery', () => {
  it('sets a new password by the mailed link once, and ends all other sessions', async () => {
    const other = createBrowser(desk.server)
    await other.login(desk.org.email, desk.org.password)
    const token = await mailedToken()
    expect(await reset(token, newPassword)).toSatisfy(isEmptyAnswer)
    expect((await desk.browser.call('GET', '/self')).body.email).toBe(desk.org.email)
    expect((await other.call('GET', '/self')).status).toBe(401)
    expect((await createBrowser(desk.server).login(desk.org.email, desk.org.password)).status).toBe(400)
    expect((await createBrowser(desk.server).login(desk.org.email, newPassword)).status).toBe(200)
    expect((await reset(token, 'yet another password')).status).toBe(404)
    expect((await waitForMail(desk.server.dataDir, desk.org.email, 2)).subject).toBe('Your password was changed')
    const { body } = await desk.browser.call('GET', `/orgs/${desk.org.orgId}/logs`)
    expect(body.results).toContainEqual(expect.objectContaining({ message: 'Recover password' }))
  })

  it('takes two connections of the database at a time, however many networks ask, and refuses what would wait too long', async () => {
    const { hostname: host, port } = new URL(desk.server.url)
    const holding = await openTx(desk.server.ctx, (tx) =>
      consumeMailQuota(tx, `recovery of ${desk.org.email}`, desk.clock.now()),
    )
    const statuses: (number | undefined)[] = []
    const body = JSON.stringify({ email: desk.org.email })
    const asked = Array.from({ length: 540 }, async (_, index) => {
      const from = networkAddress(index % 50)
      const answer = await send({ host, port: Number(port) }, { method: 'POST', path: '/recover', body, from })
      statuses.push(answer?.status)
    })
    // Two have begun and are answered, 500 wait for their turn.
    await waitUntil('the refusals', () => statuses.length === 40)
    expect(statuses.filter((status) => status === 429)).toHaveLength(38)
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
    expect((await desk.server.call('GET', '/self')).status).toBe(200)
    await holding.commit()
    await Promise.all(asked)
    expect(statuses.filter((status) => status === 200)).toHaveLength(502)
  })

  it('works once, also for two requests at the same time', async () => {
    const token = await mailedToken()
    const both = await Promise.all([reset(token, newPassword), reset(token, 'yet another password')])
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 404])
  })

  it('revokes older links', async () => {
    const first = await mailedToken()
    const second = await mailedToken(2)
    expect((await reset(second, newPassword)).status).toBe(200)
    expect((await reset(first, 'yet another password')).status).toBe(404)
  })

  it('gives the same reply and mails nothing if there is no account', async () => {
    const unknown = `unknown-${desk.org.email}`
    const [forKnown, forUnknown] = [await recover(desk.org.email), await recover(unknown)]
    expect(forUnknown.status).toBe(forKnown.status)
    expect(forUnknown.body).toEqual(forKnown.body)
    await waitForMail(desk.server.dataDir, desk.org.email)
    expect(await mailsTo(desk.server.dataDir, unknown)).toEqual([])
  })

  it('mails an address at most three times an hour', async () => {
    for (let i = 1; i <= 3; i += 1) await mailedToken(i)
    expect((await recover(desk.org.email)).status).toBe(200)
    // Mails to another address don't overtake earlier ones.
    const other = await desk.server.addOrg()
    await recover(other.email)
    await waitForMail(desk.server.dataDir, other.email)
    expect(await mailsTo(desk.server.dataDir, desk.org.email)).toHaveLength(3)
    desk.clock.advance(61 * MINUTE_MS)
    await mailedToken(4)
  })

  it('is mailed to an address even if registrations have used up its mails', async () => {
    const names = { first_name: 'A', last_name: 'B', org_name: 'C' }
    const register = () =>
      desk.server.call('POST', '/register', {
        as: null,
        body: { ...names, email: desk.org.email, password: newPassword },
      })
    for (let i = 1; i <= 4; i += 1) expect((await register()).status).toBe(200)
    await waitForMail(desk.server.dataDir, desk.org.email, 3)
    expect((await reset(await mailedToken(4), newPassword)).status).toBe(200)
  })

  it('links to the configured URL, whatever host the request names', async () => {
    await recover(desk.org.email, { host: 'evil.test', 'x-forwarded-host': 'evil.test' })
    const { text = '' } = await waitForMail(desk.server.dataDir, desk.org.email)
    expect(text).toContain(`${desk.server.ctx.baseUrl}/verify/recover?token=`)
    expect(text).not.toContain('evil.test')
  })

  it('expires after half an hour', async () => {
    const token = await mailedToken()
    desk.clock.advance(30 * MINUTE_MS)
    expect(await reset(token, newPassword)).toMatchObject({ status: 400, body: { detail: 'expired' } })
  })

  it('keeps the link valid after an unacceptable password', async () => {
    const token = await mailedToken()
    const refused = await reset(token, 'password1')
    expect(refused).toMatchObject({ status: 400, body: { reason: 'is one of the most common passwords' } })
    await desk.server.call('PUT', `/orgs/${desk.org.orgId}/setting`, {
      as: desk.org,
      body: { password_policy: { enabled: true, min_length: 30 } },
    })
    expect((await reset(token, newPassword)).body.reason).toBe('must have at least 30 characters')
    expect((await reset(token, `${newPassword} and more`)).status).toBe(200)
  })

  it('still requires the second factor', async () => {
    const owner = createBrowser(desk.server)
    await owner.login(desk.org.email, desk.org.password)
    const { body } = await owner.call('GET', '/self/two_factor/token')
    const code = () => codeAt(body.two_factor_secret, desk.clock.now())
    await owner.call('POST', '/self/two_factor/verify', { two_factor: code() })
    const answer = await reset(await mailedToken(), newPassword)
    expect(answer.body).toMatchObject({ two_factor_required: true, two_factor_passed: false })
    expect((await desk.browser.call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(401)
    desk.clock.advance(30_000)
    expect((await desk.browser.call('POST', '/login/two_factor', { two_factor: code() })).status).toBe(200)
    expect((await desk.browser.call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(200)
  })

  it('opens a session without a body, for older clients, in which a password can be set', async () => {
    expect((await reset(await mailedToken())).status).toBe(200)
    expect((await createBrowser(desk.server).login(desk.org.email, desk.org.password)).status).toBe(400)
    // A token could be an intruder's: only the session that the mail opened may set the password.
    expect((await desk.server.call('PUT', '/self', { as: desk.org, body: { password: newPassword } })).status).toBe(401)
    const { body } = await desk.browser.call('POST', '/self/apitokens', {})
    const holder = { ...desk.org, token: body.key }
    expect((await desk.server.call('PUT', '/self', { as: holder, body: { password: newPassword } })).status).toBe(403)
    expect((await desk.browser.call('PUT', '/self', { password: newPassword })).status).toBe(200)
    expect((await createBrowser(desk.server).login(desk.org.email, newPassword)).status).toBe(200)
  })

  it('works for an account whose password is being guessed', async () => {
    for (let i = 0; i < 6; i += 1) await createBrowser(desk.server).login(desk.org.email, `guess ${i}`)
    expect((await reset(await mailedToken(), newPassword)).status).toBe(200)
    expect((await createBrowser(desk.server).login(desk.org.email, newPassword)).status).toBe(200)
  })

  it('accepts only the mailed token', async () => {
    await mailedToken()
    expect(await reset('guess', newPassword)).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
  })
})

describe.each(['/verify/recover', '/verify/email'])('the page %s', (path) => {
  it('changes nothing by being opened, and is the same for every token', async () => {
    const open = (token: string) => fetch(`${desk.server.url}${path}?token=${token}`)
    const token = await mailedToken()
    const [mailed, other] = [await open(token), await open('<script>alert(1)</script>')]
    const policy = mailed.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(mailed.headers.get('referrer-policy')).toBe('no-referrer')
    const nonces = /nonce-[^']+/g
    const withoutNonce = (text: string) => text.replaceAll(/nonce="[^"]+"/g, '')
    expect(policy.match(nonces)).not.toEqual(other.headers.get('content-security-policy')?.match(nonces))
    expect(withoutNonce(await mailed.text())).toBe(withoutNonce(await other.text()))
    expect((await reset(token, newPassword)).status).toBe(200)
  })
})

describe('pressing its button', () => {
  it('sets the password once it is acceptable', async () => {
    const url = `${desk.server.url}/verify/recover?token=${await mailedToken()}`
    const type = async (password: string) => (await openPage(url, { password })).press()
    expect(await type('password1')).toMatchObject({
      said: 'The password is one of the most common passwords.',
      again: true,
    })
    expect(await type(newPassword)).toMatchObject({
      said: 'Your password is changed, and you are signed in.',
      again: false,
    })
    expect((await createBrowser(desk.server).login(desk.org.email, newPassword)).status).toBe(200)
    expect((await type('yet another password')).said).toBe('This link is not valid, or was used already.')
  })

  it('gives the account its new address', async () => {
    const email = `new-${desk.org.email}`
    await desk.browser.login(desk.org.email, desk.org.password)
    expect((await desk.browser.call('POST', '/self/update', { email })).status).toBe(200)
    const link = /http\S+/.exec((await waitForMail(desk.server.dataDir, email)).text ?? '')?.[0] ?? ''
    const pressed = await (await openPage(link)).press()
    expect(pressed).toMatchObject({ said: 'Your account has this address now.', again: false })
    expect((await desk.browser.call('GET', '/self')).body.email).toBe(email)
    expect((await (await openPage(link)).press()).said).toBe('This link is not valid, or was used already.')
  })
})
