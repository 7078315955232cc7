import { describe, expect, it } from 'vitest'
import { type Browser, codeAt, createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { type Enrolled, enrolSecondFactor } from '../support/peers/second-factor.ts'
import { useBrowser } from '../support/peers/use-browser.ts'
import { waitUntil } from '../support/wait-until.ts'

const STEP_MS = 30_000
const MINUTE_MS = 60_000

const desk = useBrowser({ isSignedIn: true })

const enrol = (): Promise<Enrolled> => enrolSecondFactor(desk.browser, desk.clock)

/** The code of the next step, which the account has not accepted yet. */
function nextCode({ secret }: Enrolled): string {
  desk.clock.advance(STEP_MS)
  return codeAt(secret, desk.clock.now())
}

function wrongCode({ secret }: Enrolled): string {
  const right = new Set([-1, 0, 1].map((step) => codeAt(secret, new Date(desk.clock.now().getTime() + step * STEP_MS))))
  return ['000000', '111111', '222222', '333333'].find((code) => !right.has(code)) ?? ''
}

async function halfSession(): Promise<Browser> {
  const half = createBrowser(desk.server)
  const answer = await half.login(desk.org.email, desk.org.password)
  expect(answer).toMatchObject({
    status: 200,
    body: { email: desk.org.email, two_factor_required: true, two_factor_passed: false },
  })
  return half
}

const pass = (who: Browser, code: string) => who.call('POST', '/login/two_factor', { two_factor: code })

describe('enrolling', () => {
  it('offers a secret as text and as a picture, and is completed by a code', async () => {
    const text = await desk.browser.call('GET', '/self/two_factor/token')
    expect(text.body.two_factor_secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(text.headers.get('cache-control')).toBe('no-store')
    const image = await desk.browser.call('GET', '/self/two_factor/token?by=qrcode')
    expect(image.headers.get('content-type')).toBe('image/png')
    expect(image.body).toMatch(/PNG/)
    // The secret is the same as before: a page shows both forms.
    expect((await desk.browser.call('GET', '/self/two_factor/token')).body).toEqual(text.body)
    expect((await desk.browser.call('GET', '/self')).body).toMatchObject({
      enable_two_factor: false,
      two_factor_verified: false,
    })
    const { recoveryCodes } = await enrol()
    expect(new Set(recoveryCodes).size).toBe(10)
    expect((await desk.browser.call('GET', '/self')).body).toMatchObject({
      enable_two_factor: true,
      two_factor_verified: true,
    })
  })

  it('stores the secret and the recovery codes unreadably', async () => {
    const { secret, recoveryCodes } = await enrol()
    const { db } = desk.server.ctx
    const admin = await db.selectFrom('admin').selectAll().where('id', '=', desk.org.adminId).executeTakeFirstOrThrow()
    expect(admin.totpSecret?.toString('latin1')).not.toContain(secret)
    const codes = await db.selectFrom('recoveryCode').selectAll().where('adminId', '=', desk.org.adminId).execute()
    expect(codes).toHaveLength(10)
    expect(codes.map(({ codeHash }) => codeHash.toString('latin1'))).not.toContain(recoveryCodes[0])
  })

  it('needs the password some minutes after the login', async () => {
    desk.clock.advance(6 * MINUTE_MS)
    const { body } = await desk.browser.call('GET', '/self/two_factor/token')
    const two_factor = codeAt(body.two_factor_secret, desk.clock.now())
    const verify = (more: object) => desk.browser.call('POST', '/self/two_factor/verify', { two_factor, ...more })
    expect((await verify({})).status).toBe(403)
    expect((await verify({ password: 'wrong' })).status).toBe(400)
    expect((await verify({ password: desk.org.password })).status).toBe(200)
  })

  it('needs the password if the caller has a token', async () => {
    const { body } = await desk.server.call('GET', '/self/two_factor/token', { as: desk.org })
    const two_factor = codeAt(body.two_factor_secret, desk.clock.now())
    expect(
      (await desk.server.call('POST', '/self/two_factor/verify', { as: desk.org, body: { two_factor } })).status,
    ).toBe(403)
  })

  it('refuses a secret that was shown to another session', async () => {
    const thief = await desk.server.call('GET', '/self/two_factor/token', { as: desk.org })
    const two_factor = codeAt(thief.body.two_factor_secret, desk.clock.now())
    expect((await desk.browser.call('POST', '/self/two_factor/verify', { two_factor })).status).toBe(400)
    const mine = await desk.browser.call('GET', '/self/two_factor/token')
    expect(mine.body.two_factor_secret).not.toBe(thief.body.two_factor_secret)
  })

  it('refuses a wrong code, and a secret that was never offered', async () => {
    expect((await desk.browser.call('POST', '/self/two_factor/verify', { two_factor: '123456' })).status).toBe(400)
    const { body } = await desk.browser.call('GET', '/self/two_factor/token')
    const two_factor = wrongCode({ secret: body.two_factor_secret, recoveryCodes: [] })
    expect((await desk.browser.call('POST', '/self/two_factor/verify', { two_factor })).status).toBe(400)
    expect((await desk.browser.call('GET', '/self')).body.enable_two_factor).toBe(false)
  })

  it('does not replace an enrolled factor', async () => {
    await enrol()
    expect((await desk.browser.call('GET', '/self/two_factor/token')).status).toBe(400)
  })

  it('ends the sessions that were opened without it', async () => {
    const other = createBrowser(desk.server)
    await other.login(desk.org.email, desk.org.password)
    await enrol()
    expect((await other.call('GET', '/self')).status).toBe(401)
    expect((await desk.browser.call('GET', '/self')).status).toBe(200)
  })
})

describe('logging in with it', () => {
  it('allows only the rest of the login until the code is given', async () => {
    const enrolled = await enrol()
    const half = await halfSession()
    expect((await half.call('GET', '/self')).body).toEqual({
      email: desk.org.email,
      two_factor_required: true,
      two_factor_passed: false,
      privileges: [],
    })
    for (const [method, path] of [
      ['GET', `/orgs/${desk.org.orgId}`],
      ['PUT', '/self'],
      ['DELETE', '/self'],
      ['GET', '/self/logs'],
      ['GET', '/self/two_factor/token'],
      ['POST', '/self/two_factor/verify'],
      ['POST', '/self/two_factor/disable'],
      ['POST', '/self/two_factor/recovery_codes'],
      ['POST', '/self/update'],
    ] as const) {
      const needed = path === '/self/update' ? { email: 'other@example.test' } : { two_factor: '123456' }
      const body = method === 'POST' ? needed : undefined
      expect([path, (await half.call(method, path, body)).status]).toEqual([path, 401])
    }
    expect(await pass(half, nextCode(enrolled))).toSatisfy(isEmptyAnswer)
    const { body } = await half.call('GET', '/self')
    expect(body).toMatchObject({ two_factor_verified: true, privileges: [{ org_id: desk.org.orgId }] })
    expect(body.two_factor_required).toBeUndefined()
    expect((await half.call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(200)
  })

  it('accepts the code together with the password', async () => {
    const enrolled = await enrol()
    const at = createBrowser(desk.server)
    expect(await at.login(desk.org.email, desk.org.password, nextCode(enrolled))).toSatisfy(isEmptyAnswer)
    expect((await at.call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(200)
    const wrong = await createBrowser(desk.server).login(desk.org.email, desk.org.password, wrongCode(enrolled))
    expect(wrong.body).toMatchObject({ two_factor_required: true, two_factor_passed: false })
  })

  it('logs out of a half session', async () => {
    await enrol()
    const half = await halfSession()
    expect((await half.call('POST', '/logout', '')).status).toBe(200)
  })

  it('accepts a code once, also for two requests at the same time', async () => {
    const enrolled = await enrol()
    const [first, second] = [await halfSession(), await halfSession()]
    const code = nextCode(enrolled)
    const statuses = (await Promise.all([pass(first, code), pass(second, code)])).map(({ status }) => status)
    expect(statuses.sort((a, b) => a - b)).toEqual([200, 401])
  })

  it.each([
    ['two steps ago', -2, 401],
    ['a step ago', -1, 200],
    ['a step ahead', 1, 200],
    ['two steps ahead', 2, 401],
  ])('decides about a code of %s', async (_what, steps, status) => {
    const { secret } = await enrol()
    desk.clock.advance(10 * STEP_MS)
    const half = await halfSession()
    expect((await pass(half, codeAt(secret, new Date(desk.clock.now().getTime() + steps * STEP_MS)))).status).toBe(
      status,
    )
  })

  it('refuses codes older than an accepted one', async () => {
    const { secret } = await enrol()
    desk.clock.advance(10 * STEP_MS)
    const at = (steps: number) => codeAt(secret, new Date(desk.clock.now().getTime() + steps * STEP_MS))
    expect((await pass(await halfSession(), at(1))).status).toBe(200)
    expect((await pass(await halfSession(), at(0))).status).toBe(401)
  })

  it('ends the session after five wrong codes, and limits them over all sessions', async () => {
    const enrolled = await enrol()
    const half = await halfSession()
    for (let i = 0; i < 5; i += 1) expect((await pass(half, wrongCode(enrolled))).status).toBe(401)
    expect((await half.call('GET', '/self')).status).toBe(401)
    const next = await halfSession()
    expect((await pass(next, codeAt(enrolled.secret, desk.clock.now()))).status).toBe(429)
    // A step of the codes lasts as long as the first pause.
    expect((await pass(next, nextCode(enrolled))).status).toBe(200)
  })

  it('shows wrong codes to the owner as failed logins', async () => {
    const enrolled = await enrol()
    expect((await pass(await halfSession(), wrongCode(enrolled))).status).toBe(401)
    await createBrowser(desk.server).login(desk.org.email, desk.org.password, wrongCode(enrolled))
    await waitUntil('both failures are recorded', async () => {
      const { body } = await desk.browser.call('GET', '/self/login_failures')
      return body.num_attempts === 2
    })
  })

  it('replies 401 without a session, and 404 if none is enrolled', async () => {
    expect((await pass(createBrowser(desk.server), '123456')).status).toBe(401)
    expect((await pass(desk.browser, '123456')).status).toBe(404)
  })

  it('ends a half session after 15 minutes', async () => {
    await enrol()
    const half = await halfSession()
    desk.clock.advance(15 * MINUTE_MS)
    expect((await half.call('GET', '/self')).status).toBe(401)
  })

  it('refuses HTTP Basic', async () => {
    const authorization = `Basic ${Buffer.from(`${desk.org.email}:${desk.org.password}`).toString('base64')}`
    const basic = () => desk.server.call('GET', '/self', { as: null, headers: { authorization } })
    expect((await basic()).status).toBe(200)
    await enrol()
    expect((await basic()).status).toBe(401)
  })
})

describe('recovery codes', () => {
  it('work once each, however they are typed', async () => {
    const { recoveryCodes } = await enrol()
    const code = recoveryCodes[3]?.toUpperCase().replaceAll('-', ' ') ?? ''
    expect((await pass(await halfSession(), code)).status).toBe(200)
    expect((await pass(await halfSession(), code)).status).toBe(401)
  })

  it('work once for concurrent requests too', async () => {
    const { recoveryCodes } = await enrol()
    const halves = [await halfSession(), await halfSession(), await halfSession()]
    const answers = await Promise.all(halves.map((half) => pass(half, recoveryCodes[0] ?? '')))
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401, 401])
  })

  it('are replaced by new ones', async () => {
    const enrolled = await enrol()
    const { recoveryCodes } = enrolled
    const renew = (body: object) => desk.browser.call('POST', '/self/two_factor/recovery_codes', body)
    expect((await renew({})).status).toBe(403)
    const { status, body } = await renew({ two_factor: nextCode(enrolled) })
    expect(status).toBe(200)
    expect((await pass(await halfSession(), recoveryCodes[0] ?? '')).status).toBe(401)
    expect((await pass(await halfSession(), body.recovery_codes[0])).status).toBe(200)
  })
})

describe('disabling it', () => {
  const disable = (who: Browser, body: object) => who.call('POST', '/self/two_factor/disable', body)

  it('needs a code, also in a session that has passed it, and the password in an older one', async () => {
    const enrolled = await enrol()
    desk.clock.advance(6 * MINUTE_MS)
    const { password } = desk.org
    expect((await disable(desk.browser, { two_factor: nextCode(enrolled) })).status).toBe(403)
    expect((await disable(desk.browser, { password: 'wrong', two_factor: nextCode(enrolled) })).status).toBe(400)
    expect(await disable(desk.browser, { password })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('two_factor') },
    })
    expect((await disable(desk.browser, { password, two_factor: wrongCode(enrolled) })).status).toBe(400)
    expect((await disable(desk.browser, { password, two_factor: nextCode(enrolled) })).status).toBe(200)
    const off = { enable_two_factor: false, two_factor_verified: false }
    expect((await desk.browser.call('GET', '/self')).body).toMatchObject(off)
    expect(await createBrowser(desk.server).login(desk.org.email, desk.org.password)).toSatisfy(isEmptyAnswer)
  })

  it('needs both for a token', async () => {
    const enrolled = await enrol()
    const byToken = (body: object) => desk.server.call('POST', '/self/two_factor/disable', { as: desk.org, body })
    const { password } = desk.org
    expect((await byToken({ password })).status).toBe(403)
    expect((await byToken({ password, two_factor: wrongCode(enrolled) })).status).toBe(400)
    expect((await byToken({ password, two_factor: nextCode(enrolled) })).status).toBe(200)
  })

  it('replies 404 if it is disabled', async () => {
    expect((await disable(desk.browser, { password: desk.org.password })).status).toBe(404)
  })
})
