import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { raiseAlarms } from '../../src/events/alarms/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { noChromium, signIn } from '../support/peers/chromium.ts'
import { MODEL, NEW, seedOrg } from '../support/fleets/fleet.ts'
import { addPerson } from '../support/people.ts'
import { waitUntil } from '../support/wait-until.ts'
import { testAccounts } from './accounts-suite.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { testSiteRole } from './site-role-suite.ts'
import { testUpgradePage } from './upgrade-page-suite.ts'
import { type ConsoleWorld, startConsole } from './world.ts'

describe.skipIf(noChromium !== null)(
  `the console and who uses it${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    let server: ConsoleWorld
    let org: string
    let upgradeId: string
    let upgrade: object
    const ssoDomains = new Map<string, string>()

    beforeAll(async () => {
      server = await startConsole(ssoDomains)
      org = server.path
      const seeded = await seedOrg(server.ctx, [{ devices: 3, name: 'Oslo' }], server.org.orgId)
      upgrade = {
        site_ids: seeded.sites.map(({ id }) => id),
        models: [MODEL],
        version: NEW,
        strategy: 'big_bang',
      }
      const created = await server.call('POST', `${org}/devices/upgrade`, { body: upgrade })
      upgradeId = created.body.id
    }, 240_000)
    afterAll(() => server.close())

    it('returns to the requested page after the sign-in', { timeout: WITHIN_MS }, async () => {
      const { page, context } = await server.openPage()
      await page.goto(`${org}/devices?type=ap`)
      await page.waitForURL('**/sign-in?**')
      await expectAccessible(page)
      await page.getByLabel('Email').fill(server.org.email)
      await page.getByLabel('Password', { exact: true }).fill('not the password')
      await page.keyboard.press('Enter')
      // The words of the server appear at the field.
      const field = page.getByLabel('Password', { exact: true })
      await page.getByText('Invalid email or password').waitFor()
      expect(await field.getAttribute('aria-invalid')).toBe('true')
      await field.fill(server.org.password)
      await page.keyboard.press('Enter')
      await page.waitForURL(`**${org}/devices?type=ap`)
      await page.getByText('3 devices').waitFor()

      await context.clearCookies()
      await page.reload()
      await page.waitForURL('**/sign-in?**')
      await context.close()
    })

    it('does not offer what a role may not do', { timeout: WITHIN_MS }, async () => {
      const admin = await server.enter(server.org, `${org}/upgrades/${upgradeId}`)
      await admin.page.getByRole('button', { name: 'Cancel the upgrade…' }).waitFor()
      await admin.context.close()

      const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
      const { page, context } = await server.enter(reader, `${org}/upgrades/${upgradeId}`)
      await page.getByText('0 of 3 upgraded').waitFor()
      for (const name of ['Pause…', 'Cancel the upgrade…'])
        expect(await page.getByRole('button', { name }).count()).toBe(0)
      await page.goto(`${org}/upgrades/new`)
      await page.getByText('Your role does not start upgrades').waitFor()
      await context.close()
    })

    it('shows a role in a single site what it reaches, and no refusals', { timeout: 2 * WITHIN_MS }, async () => {
      const { body: sites } = await server.call('GET', `${org}/sites`)
      const [{ id: siteId }] = sites
      const person = await addPerson(server, [{ scope: 'site', role: 'admin', site_id: siteId }])
      const { page, context } = await server.enter(person, org)
      const refused: string[] = []
      page.on('response', (response) => response.status() === 403 && refused.push(response.url()))
      const pages = page.getByRole('navigation', { name: 'Pages' })
      await pages.getByRole('link', { name: 'Webhooks' }).waitFor()
      for (const name of ['Upgrades', 'People']) expect(await pages.getByRole('link', { name }).count()).toBe(0)
      await page.reload()
      await page.getByRole('link', { name: 'Oslo' }).first().waitFor()
      expect(await page.getByRole('region', { name: 'Upgrades' }).count()).toBe(0)
      await page.goto(`${org}/sites/${siteId}`)
      const upgrades = page.getByRole('region', { name: 'Upgrades' })
      for (const action of ['Pause', 'Resume']) {
        await upgrades.getByRole('button', { name: `${action}…` }).click()
        await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
        await upgrades.getByRole('button', { name: `${action}…` }).waitFor({ state: 'detached' })
      }
      await expectAccessible(page)
      await pages.getByRole('link', { name: 'Webhooks' }).click()
      await page.getByText('No webhooks here').waitFor()
      expect(await page.getByLabel('Place').getByRole('option').allTextContents()).toEqual(['Oslo'])
      expect(await page.getByRole('link', { name: 'New webhook' }).first().getAttribute('href')).toContain(siteId)
      await page.goto(`${org}/sites/${randomUUID()}`)
      await page.getByText('Your role does not reach this site').waitFor()
      for (const path of ['upgrades', `upgrades/${upgradeId}`, 'people', 'sso']) {
        await page.goto(`${org}/${path}`)
        await page.getByText('Only roles in the whole organization show this page').waitFor()
      }
      await expectAccessible(page)
      expect(refused).toEqual([])
      await context.close()
    })

    testSiteRole(() => server)

    testUpgradePage(() => ({ server, upgrade, upgradeId }))

    it('acknowledges an alarm by the keyboard, and takes that back', { timeout: 2 * WITHIN_MS }, async () => {
      const { ctx } = server
      const texts = Array.from({ length: 8 }, (_, place) => `Something has happened for the ${place + 1}. time`)
      const alarms = texts.map((text, place) => {
        return {
          orgId: server.org.orgId,
          siteId: null,
          type: 'upgrade_held' as const,
          subject: String(place),
          text,
          details: {},
        }
      })
      await inTx(ctx, (tx) => raiseAlarms(tx, alarms, ctx.clock.now()))
      const { page, context } = await server.enter(server.org, org)
      const panel = page.getByRole('region', { name: 'Alarms' })
      await panel.getByRole('button', { name: /^Show all / }).click()
      await panel.getByText(texts[0] ?? '').waitFor()
      const button = (verb: string) => panel.getByRole('button', { name: `${verb} ${texts[0]}` })
      await button('Acknowledge').focus()
      await page.keyboard.press('Enter')
      await panel.getByText(/^Acknowledged by ./).waitFor()
      // The focus stays, so that an error is corrected at once.
      await button('Take back').and(page.locator(':focus')).waitFor()
      await expectAccessible(page)
      await page.keyboard.press('Enter')
      await button('Acknowledge').waitFor()
      expect(await panel.getByText('Acknowledged by').count()).toBe(0)
      for (const [action, note] of [
        ['Acknowledge with a note', 'The provider is called'],
        ['Change the note', 'The provider repairs it'],
      ] as const) {
        await button(`${action}…`).click()
        const dialog = page.getByRole('dialog')
        await expectAccessible(page)
        await dialog.getByLabel('Note for the record').fill(note)
        await page.keyboard.press('Enter')
        await panel.getByText(new RegExp(`^Acknowledged by .*: ${note}$`)).waitFor()
      }
      await button('Take back').click()
      await button('Acknowledge').waitFor()
      // The focus stays near a row that leaves the list.
      await panel.getByRole('button', { name: 'Open, not acknowledged' }).click()
      await panel.getByRole('button', { name: /^Show all / }).click()
      await button('Acknowledge').focus()
      await page.keyboard.press('Enter')
      await button('Acknowledge').waitFor({ state: 'detached' })
      await panel.and(page.locator(':focus')).waitFor()
      await panel.getByRole('button', { name: 'All of 7 days' }).click()
      await panel.getByRole('button', { name: /^Show all / }).click()
      await button('Take back').waitFor()
      await context.close()
    })

    it('shows when the server is away, and continues when it is back', { timeout: WITHIN_MS }, async () => {
      const { page, context } = await server.enter(server.org, `${org}/devices`)
      await page.getByText('3 devices').waitFor()
      await context.setOffline(true)
      await page.getByText('The server does not answer. What you see').waitFor()
      await page.getByRole('searchbox').fill('oslo')
      await context.setOffline(false)
      await page.getByText('The server does not answer. What you see').waitFor({ state: 'detached' })
      expect(await page.getByRole('searchbox').inputValue()).toBe('oslo')
      await page.getByText('No device matches').waitFor()

      // A server that answers, but not with the devices.
      await page.getByRole('searchbox').fill('')
      await page.getByText('3 devices').waitFor()
      await page.route('**/inventory/search?**', (route) =>
        route.fulfill({ status: 500, json: { detail: 'Out of order' } }),
      )
      const failed = page.getByRole('alert').filter({ hasText: 'could not be read, or is old: Out of order.' })
      await waitUntil('the failure', async () => {
        await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
        return failed.isVisible()
      })
      await page.getByText('3 devices').waitFor()
      await expectAccessible(page)
      await page.unroute('**/inventory/search?**')
      await failed.getByRole('button', { name: 'Try again' }).click()
      await failed.waitFor({ state: 'detached' })
      await context.close()
    })

    it('changes settings, and shows refusals at their fields', { timeout: WITHIN_MS }, async () => {
      const { page, context } = await server.enter(server.org, `${org}/settings`)
      await page.getByLabel('Maintenance windows').fill('sat sun 22:00-04:00')
      await page.getByLabel('Day', { exact: true }).selectOption('Sunday')
      await page.getByLabel('Versions by model').fill('AP45 2.0.0')
      await page.getByLabel('Version of new switches of other models').fill('23.4R2-S3')
      await page.getByLabel('Take a recovery snapshot of new switches').check()
      await page.getByLabel('End idle sessions after').fill('1000')
      await page.getByRole('button', { name: 'Save the settings' }).click()
      await page.getByText('Invalid field ui_idle_timeout').waitFor()
      await expectAccessible(page)
      await page.getByLabel('End idle sessions after').fill('60')
      await page.getByLabel('Minimum password length').fill('10')
      const held = Promise.withResolvers<void>()
      await page.route(`**${org}/setting`, async (route) => {
        if (route.request().method() === 'PUT') await held.promise
        return route.continue()
      })
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Save the settings' }).and(page.locator('[aria-busy=true]')).waitFor()
      // What is typed before the answer stays.
      await page.getByLabel('Minimum password length').fill('12')
      held.resolve()
      await page
        .getByRole('button', { name: 'Save the settings' })
        .and(page.locator('[aria-busy=true]'))
        .waitFor({ state: 'detached' })
      expect(await page.getByLabel('Minimum password length').inputValue()).toBe('12')
      // It replaces what the form itself has saved.
      const status = page.getByRole('status').filter({ hasText: 'The settings are saved' })
      await page.keyboard.press('Enter')
      await status.waitFor()
      await page.getByLabel('Minimum password length').fill('10')
      const saved = page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.ok())
      await page.keyboard.press('Enter')
      await saved
      await status.waitFor()
      await page.getByLabel('Minimum password length').and(page.locator(':focus')).waitFor()
      await page.getByLabel('Minimum password length').fill('11')
      await status.waitFor({ state: 'detached' })
      expect((await server.call('GET', `${org}/setting`)).body).toMatchObject({
        maintenance_windows: [{ days: ['sat', 'sun'], start: '22:00', end: '04:00' }],
        auto_upgrade: { day_of_week: 'sun', custom_versions: { AP45: '2.0.0' } },
        switch: { auto_upgrade: { version: '23.4R2-S3', snapshot: true } },
        ui_idle_timeout: 60,
        password_policy: { min_length: 10 },
      })
      // What was typed replaces what somebody else has saved only when the person knows that.
      await page.getByLabel('Minimum password length').fill('11')
      await server.call('PUT', `${org}/setting`, { body: { password_policy: { min_length: 13 } } })
      const read = Promise.withResolvers<void>()
      await page.route(
        `**${org}/setting`,
        async (route) => {
          await read.promise
          return route.continue()
        },
        { times: 1 },
      )
      await page.getByRole('button', { name: 'Save the settings' }).click()
      await page.getByRole('button', { name: 'Save the settings' }).and(page.locator('[aria-busy=true]')).waitFor()
      await page.getByLabel('Passwords expire after').fill('90')
      read.resolve()
      await page.getByText('Minimum password length is now "13". Save again to replace it').waitFor()
      expect((await server.call('GET', `${org}/setting`)).body.password_policy.min_length).toBe(13)
      expect(await page.getByLabel('Passwords expire after').inputValue()).toBe('90')
      await page.getByRole('button', { name: 'Save the settings' }).click()
      await status.waitFor()
      expect((await server.call('GET', `${org}/setting`)).body.password_policy).toMatchObject({
        min_length: 11,
        expiry_in_days: 90,
      })
      // What somebody else has saved appears, beside the input.
      await page.getByLabel('Minimum password length').fill('12')
      await server.call('PUT', `${org}/setting`, { body: { ui_idle_timeout: 61 } })
      await page.getByRole('button', { name: 'Rename' }).click()
      const idleTimeout = page.getByLabel('End idle sessions after')
      await waitUntil('it is read again', async () => (await idleTimeout.inputValue()) === '61')
      expect(await page.getByLabel('Minimum password length').inputValue()).toBe('12')
      const name = page.getByLabel('Name', { exact: true })
      await name.fill('Typed')
      await server.call('PUT', org, { body: { name: 'Southern lights' } })
      // After a break of the network the page reads everything again.
      await context.setOffline(true)
      await page.getByRole('button', { name: 'Save the settings' }).click()
      const away = page.getByText('The server does not answer. What you see')
      await away.waitFor()
      await context.setOffline(false)
      await away.waitFor({ state: 'detached' })
      await page.getByText('Southern lights').waitFor()
      expect(await name.inputValue()).toBe('Typed')
      await page.getByRole('button', { name: 'Rename' }).click()
      await page.getByText('Name is now "Southern lights". Save again to replace it').waitFor()
      expect((await server.call('GET', org)).body.name).toBe('Southern lights')
      await page.getByRole('button', { name: 'Rename' }).click()
      await page.getByText('Typed', { exact: true }).waitFor()
      await server.call('PUT', org, { body: { name: 'Southern lights' } })
      await page.reload()
      expect(await name.inputValue()).toBe('Southern lights')
      expect(await page.getByLabel('Maintenance windows').inputValue()).toBe('sat sun 22:00-04:00')
      for (const label of ['Maintenance windows', 'End idle sessions after', 'Minimum password length'])
        await page.getByLabel(label).fill('')
      const emptied = page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.ok())
      await page.getByRole('button', { name: 'Save the settings' }).click()
      await emptied
      await context.close()
    })

    testAccounts(() => ({ server, ssoDomains }))

    it('fits narrow windows', { timeout: WITHIN_MS }, async () => {
      const { page, context } = await server.openPage({ width: 390, height: 844 })
      await signIn(page, server.org)
      await page.waitForURL(`**${org}`)
      for (const path of [
        '/account',
        '/register',
        org,
        `${org}/devices`,
        `${org}/upgrades`,
        `${org}/upgrades/new`,
        `${org}/upgrades/new?kind=mxedge`,
        `${org}/upgrades/${upgradeId}`,
        `${org}/firmware`,
        `${org}/edges`,
        `${org}/people`,
        `${org}/settings`,
        `${org}/webhooks`,
        `${org}/webhooks/new`,
      ]) {
        await page.goto(path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      }
      await server.call('POST', `${org}/sites`, { body: { name: 'Long-name '.repeat(6) } })
      await page.setViewportSize({ width: 1100, height: 844 })
      await page.goto(org)
      await page.getByRole('link', { name: 'Long-name' }).first().waitFor()
      expect(await page.locator('.table-scroller').first().evaluate(isScrolled)).toBe(false)
      await context.close()
    })
  },
)

/** True if a part of the content is out of view. */
function isScrolled({ scrollWidth, clientWidth }: { readonly scrollWidth: number; readonly clientWidth: number }) {
  return scrollWidth > clientWidth
}
