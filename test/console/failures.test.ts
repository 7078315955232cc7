import { glob, readFile } from 'node:fs/promises'
import type { Locator, Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite, claimNewDevice, connectDevice } from '../support/fleets/devices.ts'
import { addPerson } from '../support/people.ts'
import { noChromium, openSession, openView } from '../support/peers/chromium.ts'
import { openRoute } from '../support/peers/route.ts'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { answerChanges, expectKept, forms } from './forms.ts'
import { type ConsoleWorld, startConsole } from './world.ts'

describe.skipIf(noChromium !== null)(
  `the console while the server is slow or fails, or what it shows is gone${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    let world: ConsoleWorld
    beforeAll(async () => {
      world = await startConsole()
    }, 240_000)
    afterAll(() => world?.close())

    it('keeps the focus on a button while its action runs, and runs it once', { timeout: WITHIN_MS }, async () => {
      const id = await world.addWebhook({ name: 'Pinged', url: 'http://127.0.0.1:9/hook', topics: ['audits'] })
      const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
      const held = Promise.withResolvers<void>()
      const sent: string[] = []
      await page.route(/\/ping$|\/webhooks\/[^/]+$/, async (route) => {
        if (route.request().method() === 'GET') return route.continue()
        sent.push(route.request().method())
        await held.promise
        return route.continue()
      })
      const ping = page.getByRole('button', { name: 'Send a test message' })
      await ping.focus()
      await clickTwice(ping)
      await page.locator('[aria-busy=true]').and(ping).waitFor()
      await page.keyboard.press('Enter')
      await expectAccessible(page)
      await page.locator(':focus').and(ping).waitFor()

      await page.getByRole('button', { name: 'Delete…' }).press('Enter')
      const dialog = page.getByRole('dialog')
      const confirm = dialog.getByRole('button', { name: 'Delete', exact: true })
      // The dialog takes the focus a moment after it is shown.
      await page
        .locator(':focus')
        .and(dialog.getByRole('button', { name: 'Keep as it is' }))
        .waitFor()
      await confirm.focus()
      await clickTwice(confirm)
      await page.locator('[aria-busy=true]').and(confirm).waitFor()
      await page.keyboard.press('Enter')
      await page.locator(':focus').and(confirm).waitFor()
      // The browser reports its requests a moment later.
      await waitUntil('both requests', () => sent.length > 1)
      expect(sent).toEqual(['POST', 'DELETE'])
      held.resolve()
      await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
      expect(sent).toEqual(['POST', 'DELETE'])
      await context.close()
    })

    /** Both clicks are waiting, as on a page that was busy: nothing comes between them. */
    const clickTwice = (button: Locator): Promise<void> =>
      button.evaluate(async (element: { click(): void }) => {
        for (let click = 0; click < 2; click += 1) setTimeout(() => element.click())
      })

    it(
      'says that the webhook of an open page or an old link is gone, and where a device is',
      { timeout: WITHIN_MS },
      async () => {
        const id = await world.addWebhook({ name: 'Removed', url: 'http://127.0.0.1:9/hook', topics: ['audits'] })
        const { page, context } = await world.enter(world.org, `${world.path}/webhooks/${id}`)
        await page.getByRole('heading', { name: 'Removed' }).waitFor()
        await world.call('DELETE', `${world.path}/webhooks/${id}`)
        await page.getByText('The webhook was deleted, or it never existed').waitFor()
        await page.goto(`${world.path}/webhooks/${id}/edit`)
        await page.getByText('The webhook was deleted, or it never existed').waitFor()
        await expectAccessible(page)
        await page.getByRole('main').getByRole('link', { name: 'audit log' }).click()
        await page.getByText('Delete Webhook "Removed"').waitFor()

        const [from, to] = [await addSite(world, 'Old place'), await addSite(world, 'New place')]
        const { mac, id: deviceId } = await claimNewDevice(world, { siteId: to })
        const old = `${world.path}/sites/${from}/devices/${mac}`
        await page.goto(old)
        await page.getByRole('link', { name: 'Open it at New place' }).click()
        await page.waitForURL(`**/sites/${to}/devices/${mac}`)
        const inventory = `${world.path}/inventory`
        await world.call('PUT', inventory, { body: { op: 'unassign', macs: [mac] } })
        await page.goto(old)
        await page.getByText('The device is in no site').waitFor()
        await world.call('PUT', inventory, { body: { op: 'delete', macs: [mac] } })
        await page.reload()
        await page.getByText('The organization does not have this device').waitFor()
        await expectAccessible(page)
        await page.goto(`${world.path}/edges/${deviceId}`)
        await page.getByText('The edge appliance was deleted, or it never existed').waitFor()
        await page.goto(`${world.path}/sites/${deviceId}`)
        await page.getByText('The site was deleted, or it never existed').waitFor()
        await context.close()
      },
    )

    it('leaves a server alone that can not answer one part of a page', { timeout: WITHIN_MS }, async () => {
      const id = await world.addWebhook({ name: 'Busy', url: 'http://127.0.0.1:9/hook', topics: ['audits'] })
      const { page, context } = await world.enter(world.org, world.path)
      let sent = 0
      await page.route('**/events/search?**', (route) => {
        sent += 1
        return route.fulfill({ status: 504, body: '' })
      })
      const read: string[] = []
      page.on('request', (request) => read.push(new URL(request.url()).pathname))
      await page.goto(`${world.path}/webhooks/${id}`)
      const part = page.getByRole('alert').filter({ hasText: 'A part of this page could not be read' })
      await part.waitFor()
      // Two lists, each three times. What the server has answered is not read again because of them.
      expect(sent).toBe(6)
      await page.getByRole('heading', { name: 'Busy' }).waitFor()
      expect(read.filter((path) => path === `/api/v1${world.path}/webhooks/${id}`)).toHaveLength(1)
      await page.unroute('**/events/search?**')
      await part.getByRole('button', { name: 'Try again' }).click()
      await part.waitFor({ state: 'detached' })
      await context.close()
    })

    it('notices a route that was dropped, says so, and catches up', { timeout: 2 * WITHIN_MS }, async () => {
      const siteId = await addSite(world, 'Hamar')
      const { mac } = await claimNewDevice(world, { siteId })
      const run = (firmware: string) => connectDevice(world.ctx, mac, { firmware })
      await run('before')
      const route = await openRoute(world.url)
      const context = await openView(world.browser, route.url)
      const page = await context.newPage()
      await page.clock.install()
      await openSession(context, world.org)
      const runs = (firmware: string) => page.getByRole('cell', { name: firmware, exact: true })
      await page.goto(`${world.path}/devices?site=${siteId}`)
      await runs('before').waitFor()
      await run('live')
      await runs('live').waitFor()

      route.drop()
      await run('after')
      // Nothing arrives any more, not even an end.
      await page.clock.fastForward(20_000)
      await page.clock.fastForward(10_000)
      const away = page.getByText('The server does not answer. What you see may be old')
      await away.waitFor()
      await runs('live').waitFor()
      route.restore()
      await runs('after').waitFor()
      await away.waitFor({ state: 'detached' })
      await run('live again')
      await runs('live again').waitFor()
      await context.close()
    })

    it('keeps the input while the server fails, and sends it once', { timeout: 2 * WITHIN_MS }, async () => {
      await addSite(world, 'Stavanger')
      const { page, context } = await world.enter(world.org, world.path)
      const openEnd = 'The server does not answer. The change may have been made: look before you repeat it.'
      const failures: readonly (readonly [fail: (route: Route) => Promise<void>, message: string])[] = [
        [(route) => route.fulfill({ status: 500, body: '' }), 'The server answered 500.'],
        [(route) => route.fulfill({ status: 503, json: { detail: 'The database is away' } }), 'The database is away'],
        [(route) => route.fulfill({ status: 504, body: '<html>' }), openEnd.replace('does not answer', 'answered 504')],
        [(route) => route.abort('connectionrefused'), openEnd],
        [(route) => route.abort('connectionreset'), openEnd],
      ]
      const message = page.getByRole('main')
      for (const { path, field, action, call, fails } of [
        { path: '', field: 'Name of a new site', action: 'Create the site', call: '/sites', fails: failures },
        {
          ...{ path: '/webhooks/new', field: 'Name', action: 'Create the webhook', call: '/webhooks' },
          fails: failures.slice(-1),
        },
      ]) {
        await page.goto(world.path + path)
        if (path === '') await page.getByText('Add a site').click()
        const input = page.getByLabel(field, { exact: true })
        await input.fill('Kept')
        for (const [fail, text] of fails) {
          const sent = await answerChanges(page, `**/api/v1${world.path}${call}`, fail)
          await page.getByRole('button', { name: action }).click()
          await message.getByText(text).waitFor()
          // The page reads everything again when the server is back.
          await page.getByText('The server does not answer. What you see').waitFor({ state: 'detached' })
          expect({ sent, input: await input.inputValue() }, text).toEqual({ sent: ['POST'], input: 'Kept' })
          await message.getByText(text).waitFor()
          await page.unrouteAll({ behavior: 'wait' })
        }
      }
      await context.close()
    })

    it(
      'keeps the input of each form, and leads to the field that the server refuses',
      { timeout: 4 * WITHIN_MS },
      async () => {
        const siteId = await addSite(world, 'Tromsø')
        const { body: map } = await world.call('POST', `/sites/${siteId}/maps`, {
          body: { name: 'Hall', width: 200, height: 100 },
        })
        const { body: sso } = await world.call('POST', `${world.path}/ssos`, { body: { name: 'Staff' } })
        const places = {
          org: world.path,
          map: `${world.path}/sites/${siteId}/maps/${map.id}`,
          sso: `${world.path}/sso/${sso.id}`,
        }
        const people = { admin: world.org, newcomer: await addPerson(world, []), nobody: null }
        const cases = Object.values(forms).filter((form) => typeof form !== 'string')
        for (const [who, person] of Object.entries(people)) {
          const { page, context } = person === null ? await world.openPage() : await world.enter(person, '/account')
          for (const form of cases.filter((one) => one.who === who)) {
            await page.goto(form.path(places))
            await form.open?.(page)
            await expectKept(page, form)
          }
          await context.close()
        }
      },
    )

    it('knows every form of the console', async () => {
      const files: string[] = []
      for await (const file of glob('web/src/**/*.tsx'))
        if ((await readFile(file, 'utf8')).includes('<form')) files.push(file.replace('web/src/', ''))
      expect(files.toSorted()).toEqual(Object.keys(forms).toSorted())
    })
  },
)
