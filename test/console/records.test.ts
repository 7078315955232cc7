import { sql } from 'kysely'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createRefusals } from '../../src/gateway/admission/refusals.ts'
import { startRealProvider } from '../oauth/real-provider.ts'
import { startIdentityProvider } from '../sso/identity-provider.ts'
import { addSso, signIn as signInBySso } from '../sso/world.ts'
import { buildConsole, launchChromium, noChromium, openSession, openView, signIn } from '../support/peers/chromium.ts'
import { addSite, claimNewDevice, connectDevice } from '../support/fleets/devices.ts'
import { seedOrg } from '../support/fleets/fleet.ts'
import { addPerson } from '../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { testOperator } from './operator-suite.ts'
import { styleOf } from './style-of.ts'

describe.skipIf(noChromium !== null)(
  `accounts, single sign-on and the operator in the console${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    const refusals = createRefusals(Date.now)
    let server: TestServer
    let browser: Browser
    let org: string

    beforeAll(async () => {
      const provider = await startRealProvider('google')
      onEnd(() => provider.close())
      const settings = { oauthProviders: [provider.settings] }
      server = await startTestServer(undefined, settings, null, { console: await buildConsole(), refusals })
      onEnd(() => server.close())
      provider.serve(server.url)
      org = `/orgs/${server.org.orgId}`
      browser = await launchChromium()
      onEnd(() => browser.close())
    }, 240_000)
    const closing: (() => Promise<unknown>)[] = []
    const onEnd = (close: () => Promise<unknown>): unknown => closing.unshift(close)
    afterAll(async () => {
      for (const close of closing) await close()
    })

    /** A window whose pages may meet no defect. */
    async function openPage(): Promise<{ readonly page: Page; readonly context: BrowserContext }> {
      const context = await openView(browser, server.url)
      context.setDefaultTimeout(WITHIN_MS)
      onTestFinished(() => context.close())
      const page = await context.newPage()
      const defects: string[] = []
      page.on('pageerror', (error) => defects.push(String(error)))
      page.on('console', (message) => {
        if (/Content Security Policy/.test(message.text())) defects.push(message.text())
      })
      onTestFinished(() => expect(defects).toEqual([]))
      return { context, page }
    }

    async function enter(person: TestOrg, path: string): Promise<Page> {
      const { page, context } = await openPage()
      await openSession(context, person)
      await page.goto(path)
      return page
    }

    it('links a provider, and then signs in by it', { timeout: 2 * WITHIN_MS }, async () => {
      const person = await addPerson(server, [{ scope: 'org', role: 'read' }])
      const page = await enter(person, '/account')
      await page.getByText('Google is not linked').waitFor()
      await page.getByRole('button', { name: 'Link… Google' }).click()
      await agree(page)
      await page.getByRole('heading', { name: 'Link Google' }).waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Link Google' }).click()
      await page.getByText('Google is linked').waitFor()
      expect(new URL(page.url()).search).toBe('')

      const { page: other } = await openPage()
      await other.goto(`/sign-in?return=${encodeURIComponent(`${org}/devices`)}`)
      await other.getByRole('button', { name: 'Sign in with Google' }).waitFor()
      await expectAccessible(other)
      await other.getByRole('button', { name: 'Sign in with Google' }).click()
      await agree(other)
      await other.waitForURL(`**${org}/devices`)

      // The answer of a provider works once.
      await other.goto('/sign-in?provider=google&code=used')
      await other.getByRole('alert').first().waitFor()
    })

    /** Signs in at the provider, under any name, and consents if it asks. */
    async function agree(page: Page): Promise<void> {
      await page.locator('input[name=login]').fill('carol')
      await page.locator('input[name=password]').fill('any')
      await page.getByRole('button').click()
      await page.getByRole('button', { name: 'Continue' }).click()
    }

    /** The service takes the name of a session from the browser. */
    async function enterByPage(person: TestOrg): Promise<Page> {
      const { page } = await openPage()
      await signIn(page, person)
      await page.waitForURL(`**${org}`)
      return page
    }

    it('lists the sessions of an account, and ends them', { timeout: WITHIN_MS }, async () => {
      const person = await addPerson(server, [{ scope: 'org', role: 'read' }])
      const [phone, tablet] = [await enterByPage(person), await enterByPage(person)]
      const page = await enter(person, '/account')
      const sessions = page.getByRole('region', { name: 'Sessions' })
      await sessions.getByText('This browser').waitFor()
      expect(await sessions.getByRole('listitem').count()).toBe(3)
      await sessions.getByText('Chrome on Linux').first().waitFor()
      await expectAccessible(page)
      await sessions.getByRole('button', { name: 'End…' }).first().click()
      await page.getByRole('dialog').getByText('Signs you out of 1 browser (Chrome on Linux at 127.0.0.1)').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'End' }).click()
      await sessions.getByRole('listitem').nth(2).waitFor({ state: 'detached' })
      await sessions.getByRole('button', { name: 'End all others…' }).click()
      await page.getByRole('dialog').getByText('Signs you out of 1 other browser').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'End all others' }).click()
      await sessions.getByRole('listitem').nth(1).waitFor({ state: 'detached' })
      for (const ended of [phone, tablet]) {
        await ended.goto(`${org}/devices`)
        await ended.waitForURL('**/sign-in?**')
      }
    })

    it('shows a placeholder within 200 ms while rows or a script are awaited', { timeout: WITHIN_MS }, async () => {
      const page = await enter(server.org, `${org}/devices`)
      await page.getByRole('heading', { name: 'Devices' }).waitFor()
      const placeholder = page.getByRole('status', { name: 'Loading' })
      for (const [held, label, heading] of [
        ['**/api/v1/**/upgrades?**', 'Upgrades', 'Upgrades'],
        ['**/assets/log-page*', 'Audit log', 'Audit log'],
      ] as const) {
        const gate = Promise.withResolvers<void>()
        await page.route(held, async (route) => {
          await gate.promise
          await route.continue()
        })
        await page.getByRole('navigation').getByRole('link', { name: label }).click()
        await placeholder.waitFor()
        // The rows appear after the delay, within the duration.
        expect(Number.parseFloat((await styleOf(placeholder, 'animationDelay')) ?? '')).toBeLessThanOrEqual(0.2)
        expect(Number.parseFloat((await styleOf(placeholder, 'animationDuration')) ?? '')).toBeLessThanOrEqual(0.1)
        gate.resolve()
        await placeholder.waitFor({ state: 'detached' })
        await page.getByRole('heading', { name: heading, level: 1 }).waitFor()
      }
    })

    it('sets up single sign-on, with what the identity provider needs', { timeout: 2 * WITHIN_MS }, async () => {
      const idp = await startIdentityProvider()
      onTestFinished(() => idp.close())
      const page = await enter(server.org, `${org}/people`)
      await page.getByRole('link', { name: 'Single sign-on' }).click()
      await page.getByText('No identity provider yet').waitFor()
      await page.getByText('No roles yet').waitFor()
      await expectAccessible(page)
      const roles = page.getByRole('region', { name: 'Roles' })
      await roles.getByLabel('Name of a new role').fill('staff')
      await roles.getByLabel('Role', { exact: true }).selectOption('helpdesk')
      await roles.getByRole('button', { name: 'Add the role' }).click()
      await roles.getByRole('listitem').getByText('Helpdesk').waitFor()
      await page.getByLabel('Name of a new provider').fill('Company')
      await page.getByRole('button', { name: 'Add the provider' }).click()
      await page.getByRole('heading', { name: 'Company' }).waitFor()
      await page.getByText('ACS URL').waitFor()
      await page.getByLabel('Issuer').fill(idp.issuer)
      await page.getByLabel('Sign-in URL', { exact: true }).fill('not an address')
      await page.getByLabel('Certificate').fill(idp.keys.cert)
      await page.getByLabel('Default role').fill('staff')
      await page.getByRole('button', { name: 'Save' }).click()
      // The words of the server appear at the field.
      await page.getByText('Invalid field idp_sso_url').waitFor()
      await expectAccessible(page)
      await page.getByLabel('Sign-in URL', { exact: true }).fill(idp.ssoUrl)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved.').waitFor()
      const { body: ssos } = await server.call('GET', `${org}/ssos`)
      expect(ssos).toMatchObject([
        { name: 'Company', issuer: idp.issuer, idp_sso_url: idp.ssoUrl, default_role: 'staff' },
      ])
      await page.getByRole('link', { name: 'Single sign-on' }).click()
      await page.getByText('Set up').waitFor()
      await page.getByRole('link', { name: 'Company' }).click()
      await page.getByRole('button', { name: 'Delete the provider…' }).click()
      await page.getByRole('dialog').getByText('Deletes 1 identity provider (Company)').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the provider' }).click()
      await page.getByText('No identity provider yet').waitFor()
    })

    testOperator(() => ({ server, refusals, openPage }))

    it('removes people whom an identity provider signs in', { timeout: WITHIN_MS }, async () => {
      const idp = await startIdentityProvider()
      onTestFinished(() => idp.close())
      const sso = await addSso(server, idp)
      await signInBySso(idp, sso, { nameId: 'left@company.example', attributes: { Role: 'reader' } })
      const page = await enter(server.org, `${org}/sso/${sso.id}`)
      const panel = page.getByRole('region', { name: 'Remove people' })
      await panel.getByLabel('Addresses').fill('Left@company.example\nnobody@company.example')
      await panel.getByRole('button', { name: 'Remove…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Removes up to 1 account').waitFor()
      await dialog.getByText('Not signed in by an identity provider: nobody@company.example').waitFor()
      await expectAccessible(page)
      await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
      await panel.getByText('Removed: left@company.example').waitFor()
      await panel.getByText('Without an account of this provider: nobody@company.example').waitFor()
      const { body: admins } = await server.call('GET', `${org}/admins`)
      expect(admins.map(({ email }: { email: string }) => email)).not.toContain('left@company.example')
    })

    it(
      'shows times without a site in the zone of the viewer, and those of a site in its own',
      { timeout: WITHIN_MS },
      async () => {
        const site = await server.call('POST', `${org}/sites`, { body: { name: 'Zone', timezone: 'Asia/Tokyo' } })
        await server.call('PUT', `/sites/${site.body.id}`, { body: { name: 'Zone 2' } })
        // The viewer is in Berlin.
        const own = /^\d\d \w+, \d\d:\d\d:\d\d (CET|CEST)$/
        const page = await enter(server.org, `${org}/audit?message=Zone`)
        const times = page.getByRole('main').locator('li time')
        await times.nth(1).waitFor()
        await page.locator('time[title*="GMT+9 at the site; "][title$=" UTC"]').first().waitFor()
        for (const time of await times.all()) expect(await time.innerText()).toMatch(own)
        await page.goto('/account')
        const since = page.getByRole('region', { name: 'Sessions' }).locator('time').first()
        await since.waitFor()
        expect(await since.innerText()).toMatch(own)
        expect(await since.getAttribute('title')).toMatch(/ UTC$/)
      },
    )

    it('offers no part of a gateway that is not a cluster', { timeout: WITHIN_MS }, async () => {
      const siteId = await addSite(server, 'Gateways')
      const gateway = await claimNewDevice(server, { siteId, type: 'gateway', model: 'SRX320' })
      const mac = gateway.mac
      await connectDevice(server.ctx, mac, { type: 'gateway', model: 'SRX320' })
      const page = await enter(server.org, `${org}/sites/${siteId}/devices/${mac}`)
      await page.getByRole('button', { name: 'Restart…' }).click()
      await page.getByRole('dialog').getByText('Restarts 1 gateway').waitFor()
      expect(await page.getByRole('dialog').getByLabel('What to restart').count()).toBe(0)
      expect(await page.getByRole('button', { name: /Restore/ }).count()).toBe(0)
    })

    it('draws the last day of a device', { timeout: WITHIN_MS }, async () => {
      const { ctx } = server
      const seeded = await seedOrg(ctx, [{ devices: 1, name: 'Oslo' }], server.org.orgId)
      const [device] = seeded.sites[0]?.devices ?? []
      if (device === undefined) throw new Error('no device')
      await sql`update device set site_since = now() - interval '2 days' where id = ${device.id}`.execute(ctx.db)
      await sql`
        insert into device_series (org_id, device_id, created_at, samples, cpu, memory, clients, rx_bytes, tx_bytes)
        select ${server.org.orgId}, ${device.id}, date_bin('10 minutes', now(), 'epoch') - n * interval '10 minutes', 10,
          20 + 15 * sin(n / 9.0), 55, round(8 + 7 * cos(n / 20.0)), 4e7 + 3e7 * cos(n / 20.0), 1e7 + 5e6 * sin(n / 30.0)
        from generate_series(1, 140) n`.execute(ctx.db)
      const page = await enter(server.org, `${org}/sites/${seeded.sites[0]?.id}/devices/${device.mac}`)
      const day = page.getByRole('region', { name: 'Last day' })
      await day
        .getByRole('img', { name: /^Processor in the last day\. Processor: \d+ % at the end, from 5 % to 35 %/ })
        .waitFor()
      for (const name of ['Memory', 'Clients', 'Traffic']) await day.getByRole('img', { name }).waitFor()
      expect(await day.locator('canvas').count()).toBe(4)
      await expectAccessible(page)
      // The value under the pointer is written above, with its time.
      const text = day.locator('figcaption').first()
      const before = await text.innerText()
      const { x = 0, y = 0 } = (await day.locator('.u-over').first().boundingBox()) ?? {}
      await page.mouse.move(x + 40, y + 20)
      await page.mouse.move(x + 60, y + 30)
      await text.getByText(/\d\d:\d\d/).waitFor()
      expect(await text.innerText()).not.toBe(before)
    })
  },
)
