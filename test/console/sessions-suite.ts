import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { codeAt } from '../support/peers/browser.ts'
import { signIn } from '../support/peers/chromium.ts'
import { addPerson, enableSecondFactor } from '../support/people.ts'
import type { TestOrg } from '../support/servers/server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { styleOf } from './style-of.ts'
import type { ConsoleWorld } from './world.ts'

/** The part of a dialog of the browser that these tests need. */
interface ClosableDialog {
  requestClose(): void
}

/** Tests that an end of the session takes nothing from the person, and leaves nothing to anybody else. */
export function testSessions(opened: () => ConsoleWorld): void {
  let world: ConsoleWorld
  beforeAll(() => {
    world = opened()
  })

  const coverOf = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' })

  const endSessions = ({ adminId }: TestOrg) =>
    world.ctx.db.deleteFrom('session').where('adminId', '=', adminId).execute()

  it('goes on with what was typed after a new sign-in', { timeout: 2 * WITHIN_MS }, async () => {
    const person = await addPerson(world, [{ scope: 'org', role: 'admin' }])
    const { page, context } = await world.enter(person, `${world.path}/webhooks/new`)
    await page.getByLabel('Name', { exact: true }).fill('Kept')
    await page.getByLabel('Address').fill('http://127.0.0.1:9/hook')
    await page.getByLabel('audits').check()
    const secret = await enableSecondFactor(world, person)
    await endSessions(person)
    const save = page.getByRole('button', { name: 'Create the webhook' })
    await save.click()
    const cover = coverOf(page)
    await cover.waitFor()
    const password = cover.getByLabel('Password', { exact: true })
    await password.and(page.locator(':focus')).waitFor()
    expect(await page.title()).toBe('Signed out · Signalbox')
    // Nobody can read what is below.
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await cover.boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 })
    expect(await styleOf(cover, 'backgroundColor')).toMatch(/^rgb\(/)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    // A browser also closes dialogs by other means, such as the back gesture of a phone.
    for (let times = 0; times < 3; times += 1) await cover.evaluate((dialog: ClosableDialog) => dialog.requestClose())
    await password.and(page.locator(':focus')).waitFor()
    await password.fill('wrong')
    await page.keyboard.press('Enter')
    await cover.getByText('Invalid email or password').waitFor()
    await password.fill(person.password)
    await page.keyboard.press('Enter')
    await cover.getByLabel('Code').and(page.locator(':focus')).fill('000000')
    await page.keyboard.press('Enter')
    await cover.locator('[aria-invalid="true"]').waitFor()
    // The time for the code is over.
    await endSessions(person)
    await cover.getByRole('button', { name: 'Enter the password again' }).click()
    await password.and(page.locator(':focus')).fill(person.password)
    await page.keyboard.press('Enter')
    await cover.getByLabel('Code').waitFor()
    // After a break of the network the page reads everything again: by the session that lacks its second factor.
    await context.setOffline(true)
    const away = page.getByText('The server does not answer. What you see')
    await away.waitFor({ state: 'attached' })
    await context.setOffline(false)
    await away.waitFor({ state: 'detached' })
    await cover.getByLabel('Code').fill(codeAt(secret, new Date(Date.now() + 30_000)))
    await page.keyboard.press('Enter')
    await cover.waitFor({ state: 'detached' })
    await save.and(page.locator(':focus')).waitFor()
    expect(await page.title()).toBe('New webhook · Signalbox')
    await page.getByText('Your session had ended, and nothing was changed. Try again.').waitFor()
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Kept')
    expect((await world.call('GET', `${world.path}/webhooks`)).body).toEqual([])
    await save.click()
    await page.getByRole('heading', { name: 'Kept' }).waitFor()
    expect((await world.call('GET', `${world.path}/webhooks`)).body).toMatchObject([
      { name: 'Kept', topics: ['audits'] },
    ])
    await context.close()
  })

  it('asks once for all that was refused, then reads and listens again', { timeout: WITHIN_MS }, async () => {
    const person = await addPerson(world, [{ scope: 'org', role: 'read' }])
    const { page, context } = await world.enter(person, world.path)
    const refused: string[] = []
    let streams = 0
    page.on('response', (response) => response.status() === 401 && refused.push(response.url()))
    page.on('websocket', () => (streams += 1))
    await page.reload()
    await waitUntil('the stream', () => streams > 0)
    await endSessions(person)
    // A page that comes to the front reads again what it has read more than five seconds ago, until something is refused.
    await waitUntil('a refusal', async () => {
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return refused.length > 0
    })
    const cover = coverOf(page)
    await cover.waitFor()
    expect(await page.locator('dialog').count()).toBe(1)
    // The server closes the stream of an ended session, and the page may have tried again before the first refusal.
    const before = streams
    const late = { name: 'Late', url: 'http://127.0.0.1:9/hook', enabled: false }
    expect((await world.call('POST', `${world.path}/webhooks`, { body: late })).status).toBe(200)
    await cover.getByLabel('Password', { exact: true }).fill(person.password)
    await page.keyboard.press('Enter')
    await cover.waitFor({ state: 'detached' })
    await page.getByText('Add Webhook "Late"').waitFor()
    await waitUntil('the new stream', () => streams > before)

    // The history of the browser may lead to a page of nobody, and from there back to what the page has read.
    await page.evaluate("history.pushState({}, '', '/recover'); history.pushState({}, '', location.origin)")
    await endSessions(person)
    await waitUntil('the end of the session', async () => {
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return cover.isVisible()
    })
    const document = page.waitForEvent('load')
    await page.goBack()
    await document
    await page.getByRole('heading', { name: 'Reset your password' }).waitFor()
    await context.close()
  })

  it(
    'follows the sign-out and sign-in of another tab, but not that of another person',
    { timeout: 2 * WITHIN_MS },
    async () => {
      const [person, stranger] = [
        await addPerson(world, [{ scope: 'org', role: 'admin' }]),
        await world.addOrg('Strangers'),
      ]
      const { page, context } = await world.enter(person, `${world.path}/people`)
      const line = page.getByRole('listitem').filter({ hasText: world.org.email })
      await line.getByRole('button', { name: 'Change the role…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Change the role' })
      await dialog.getByLabel('Role').selectOption('Helpdesk')
      const tab = await context.newPage()
      await tab.goto(world.path)
      await tab.getByRole('button', { name: 'Sign out' }).click()
      await tab.waitForURL('**/sign-in')
      await coverOf(page).waitFor()
      await page.bringToFront()
      await page.keyboard.press('Escape')
      await signIn(tab, person)
      await coverOf(page).waitFor({ state: 'detached' })
      expect(await dialog.getByLabel('Role').inputValue()).toBe('helpdesk')

      await tab.waitForURL(`**${world.path}`)
      await tab.getByRole('button', { name: 'Sign out' }).click()
      await tab.waitForURL('**/sign-in')
      await coverOf(page).waitFor()
      await signIn(tab, stranger)
      await page.getByText('You have no access to this organization').waitFor()
      expect(await page.getByText(world.org.email).count()).toBe(0)
      expect(await page.getByRole('dialog').count()).toBe(0)
      await context.close()
    },
  )
}
