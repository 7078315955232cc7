import type { Locator, Page } from 'playwright-core'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { addSite } from '../support/fleets/devices.ts'
import { noChromium } from '../support/peers/chromium.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { addPerson } from '../support/people.ts'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { testSessions } from './sessions-suite.ts'
import { type ConsoleWorld, startConsole } from './world.ts'

/** What an input has of interest here. */
interface Marking {
  readonly ownerDocument: { getElementById(id: string): { readonly innerText: string } | null }
  getAttribute(name: string): string | null
}

describe.skipIf(noChromium !== null)(
  `the members of an organization in the console${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    let world: ConsoleWorld
    let siteId: string
    beforeAll(async () => {
      world = await startConsole()
      siteId = await addSite(world, 'Oslo')
    }, 240_000)
    afterAll(() => world?.close())

    testSessions(() => world)

    it('invites a person, changes what another one may do, and removes that one', { timeout: WITHIN_MS }, async () => {
      const other = await addPerson(world, [{ scope: 'org', role: 'read' }])
      const { page, context } = await world.enter(world.org, `${world.path}/people`)
      await page.getByText('Nobody is invited').waitFor()
      await page.getByLabel('Email').fill('grace@example.com')
      await page.getByLabel('Role', { exact: true }).selectOption('Helpdesk')
      await page.getByLabel('Where').selectOption('Oslo')
      await page.getByRole('button', { name: 'Invite', exact: true }).click()
      const invites = page.getByRole('region', { name: 'Invitations' })
      await invites.getByText('Helpdesk of Oslo').waitFor()
      expect(tokenIn(await waitForMail(world.dataDir, 'grace@example.com'))).not.toBe('')
      await expectAccessible(page)
      await invites.getByRole('button', { name: 'Withdraw…' }).click()
      await page.getByRole('dialog').getByText('Withdraws 1 invitation (grace@example.com)').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
      await page.getByText('Nobody is invited').waitFor()

      const line = page.getByRole('listitem').filter({ hasText: other.email })
      await line.getByText('Observer', { exact: true }).waitFor()
      await line.getByRole('button', { name: 'Change the role…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Role').selectOption('Network admin')
      await dialog
        .getByText('is Network admin of the whole organization from the next request on. Until now: Observer.')
        .waitFor()
      // What was chosen and not confirmed is forgotten.
      await dialog.getByRole('button', { name: 'Keep as it is' }).click()
      await line.getByRole('button', { name: 'Change the role…' }).click()
      expect(await dialog.getByLabel('Role').inputValue()).toBe('read')
      await dialog.getByLabel('Role').selectOption('Network admin')
      await expectAccessible(page)
      await dialog.getByRole('button', { name: 'Change the role' }).click()
      await line.getByText('Network admin', { exact: true }).waitFor()
      await line.getByRole('button', { name: 'Remove…' }).click()
      const effect = `Removes 1 person (${other.email}). This person has no access to the organization from the next request on.`
      await dialog.getByText(effect, { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await line.waitFor({ state: 'detached' })
      expect((await world.call('GET', world.path, { as: other })).status).toBe(404)
      // The focus does not go back to the top with the row.
      await waitUntil('the focus of the content', () => page.evaluate("document.activeElement.id === 'content'"))
      // People can't remove their own privileges.
      const own = page.getByRole('listitem').filter({ hasText: world.org.email })
      expect(await own.getByRole('button').count()).toBe(0)
      await context.close()
    })

    it(
      'says what a person or a role of single sign-on was granted before, whatever the form can express',
      { timeout: WITHIN_MS },
      async () => {
        const other = await addPerson(world, [
          { scope: 'site', role: 'write', site_id: siteId },
          { scope: 'orgsites', role: 'read' },
        ])
        const { page, context } = await world.enter(world.org, `${world.path}/people`)
        const line = page.getByRole('listitem').filter({ hasText: other.email })
        await line.getByRole('button', { name: 'Change the role…' }).click()
        const before =
          /Until now: (Network admin of Oslo, Observer of all sites|Observer of all sites, Network admin of Oslo)\./
        await page.getByRole('dialog').getByText(before).waitFor()

        const role = { name: 'Night shift', privileges: [{ scope: 'org', role: 'read' }] }
        expect((await world.call('POST', `${world.path}/ssoroles`, { body: role })).status).toBe(200)
        await page.goto(`${world.path}/sso`)
        const change = page
          .getByRole('listitem')
          .filter({ hasText: role.name })
          .getByRole('button', { name: 'Change…' })
        await change.click()
        await page.getByRole('dialog').getByLabel('Role').selectOption('Helpdesk')
        await page.keyboard.press('Escape')
        await change.click()
        expect(await page.getByRole('dialog').getByLabel('Role').inputValue()).toBe('read')
        await context.close()
      },
    )

    it('takes an invited person from the mail to the organization, and out of it', { timeout: WITHIN_MS }, async () => {
      const email = 'ada@example.com'
      const invite = { email, privileges: [{ scope: 'org', role: 'read', org_id: world.org.orgId }] }
      expect((await world.call('POST', `${world.path}/invites`, { body: invite })).status).toBe(200)
      const token = tokenIn(await waitForMail(world.dataDir, email))
      const { page, context } = await world.openPage()
      await page.goto(`/verify/invite?token=${token}`)
      await page.getByRole('link', { name: 'Create one for the invited address' }).click()
      await page.waitForURL(`**/register?invite=${token}`)
      expect(await page.getByLabel('Organization').count()).toBe(0)
      const password = 'a long password of nobody'
      const fields = { Email: email, 'First name': 'Ada', 'Last name': 'Byron'.repeat(40), Password: password }
      for (const [label, text] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(text)
      await page.getByRole('button', { name: 'Create the account' }).click()
      await page.getByText('Look at your mail').waitFor()
      await page.getByText('If none comes, ask the operator').waitFor()
      await finishRegistration(page, { email, password })
      await page.getByRole('heading', { name: 'Firmware' }).waitFor()
      const { body: admins } = await world.call('GET', `${world.path}/admins`)
      const ada = admins.find((admin: { email: string }) => admin.email === email)
      expect(ada).toMatchObject({ privileges: [{ scope: 'org', role: 'read' }] })

      expect((await world.call('DELETE', `${world.path}/admins/${ada.admin_id}`)).status).toBe(200)
      await page.reload()
      await page.getByText('You have no access to this organization').waitFor()
      await expectAccessible(page)
      await page.getByRole('link', { name: 'Your organizations' }).click()
      await page.getByText('You belong to no organization yet').waitFor()
      await context.close()
    })

    it(
      'finds one of more sites than a page of the API has, in a select and among boxes',
      { timeout: WITHIN_MS },
      async () => {
        const at = world.ctx.clock.now()
        const site = { orgId: world.org.orgId, timezone: 'UTC', doc: documentText({}), createdAt: at, modifiedAt: at }
        const sites = Array.from({ length: 1001 }, (_, index) => ({
          ...site,
          id: uuidv7(),
          name: `Shop ${1000 + index}`,
        }))
        await world.ctx.db.insertInto('site').values(sites).execute()
        const { page, context } = await world.enter(world.org, `${world.path}/webhooks`)
        const place = page.locator('input').and(page.getByLabel('Place'))
        await place.waitFor()
        await place.press('Tab')
        await page.keyboard.press('Shift+Tab')
        await expectAccessible(page)
        await page.keyboard.type('op 2000')
        await page.getByRole('option', { name: 'Shop 2000' }).waitFor()
        expect(await page.getByRole('option').count()).toBe(1)
        expect(await markedIn(place)).toBe('Shop 2000')
        // Other sites appear before it and after it while the list is open.
        await context.setOffline(true)
        const isAway = page.getByText('The server does not answer. What you see')
        await isAway.waitFor()
        const first = { ...site, id: '00000000-0000-7000-8000-000000000000', name: 'Coop 2000' }
        const last = { ...site, id: uuidv7(), name: 'Coop 2000' }
        await world.ctx.db.insertInto('site').values([first, last]).execute()
        await context.setOffline(false)
        await page.getByRole('option').nth(2).waitFor()
        expect(await markedIn(place)).toBe('Shop 2000')
        await page.keyboard.press('Enter')
        await page.waitForURL(`**/webhooks?site=${sites.at(-1)?.id}`)
        await page.locator(':focus').and(place).waitFor()
        expect(await place.inputValue()).toBe('Shop 2000')
        // The list is closed now, and opens with what is typed. The present choice is not among those that match.
        await page.keyboard.press('Control+a')
        await page.keyboard.type('T')
        await page.getByRole('option', { name: 'The organization' }).waitFor()
        await nextTasks(page)
        await page.keyboard.press('Enter')
        await page.waitForURL((url) => url.search === '')
        expect(await place.inputValue()).toBe('The organization')
        await page.goto(`${world.path}/sites/${sites.at(-1)?.id}`)
        await page.getByRole('heading', { name: 'Shop 2000' }).waitFor()

        await page.goto(`${world.path}/upgrades/new`)
        await page.getByLabel('All sites').uncheck()
        const list = page.getByRole('group', { name: 'Sites' })
        await list.getByText('0 are chosen. 974 more are not shown: type a part of the name.').waitFor()
        await list.getByRole('searchbox').fill('shop 200')
        await list.getByLabel('Shop 2000').check()
        await list.getByRole('searchbox').fill('')
        await list.getByText('1 is chosen. 973 more are not shown').waitFor()
        await expectAccessible(page)
        await list.getByLabel('Shop 2000').press('Space')
        await page.locator(':focus').and(list.getByRole('searchbox')).waitFor()
        await context.close()
      },
    )

    /** Returns the choice that is read aloud. */
    const markedIn = (input: Locator): Promise<string | undefined> =>
      input.evaluate(
        (element: Marking) =>
          element.ownerDocument.getElementById(element.getAttribute('aria-activedescendant') ?? '')?.innerText,
      )

    /** Waits for what the page has put off until now. */
    const nextTasks = (page: Page): Promise<void> => page.evaluate('new Promise((done) => setTimeout(done))')

    /** Follows the link of the second mail. */
    async function finishRegistration(page: Page, { email, password }: { email: string; password: string }) {
      await page.goto(`/verify/register?token=${tokenIn(await waitForMail(world.dataDir, email, 2))}`)
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Finish the registration' }).click()
      await page.waitForURL(`**${world.path}`)
    }
  },
)
