import { expect, it } from 'vitest'
import { addSite } from '../support/fleets/devices.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import type { ConsoleWorld } from './world.ts'

/** Pages with edits that are not saved. */
export function testLeaving(opened: () => ConsoleWorld): void {
  it('asks before a page with unsaved settings is left, by whatever way', { timeout: WITHIN_MS }, async () => {
    const server = opened()
    const owner = await server.addOrg('Unsaved')
    const org = `/orgs/${owner.orgId}`
    const siteId = await addSite(server, 'Bodø', owner)
    const site = `${org}/sites/${siteId}`
    const { page, context } = await server.enter(owner, org)
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' })
    const stay = dialog.getByRole('button', { name: 'Stay on the page' })
    const drop = dialog.getByRole('button', { name: 'Drop the changes' })
    const nav = page.getByRole('navigation', { name: 'Pages' })
    const outages = page.getByRole('group', { name: 'Report outages after (minutes)' })
    const input = outages.getByLabel('Report outages after (minutes)')
    const typed = async (): Promise<void> => {
      await page.getByRole('heading', { level: 1, name: 'Settings of Bodø' }).waitFor()
      await outages.getByLabel('Own value of this site').check()
      await input.fill('7')
    }
    const isAsked = async (): Promise<void> => {
      // The safe answer has the focus.
      await stay.and(page.locator(':focus')).waitFor()
    }

    await page.getByRole('link', { name: 'Bodø' }).first().click()
    await page.getByRole('main').getByRole('link', { name: 'Settings', exact: true }).click()
    await typed()
    // A link, with the keyboard alone.
    await nav.getByRole('link', { name: 'Devices' }).press('Enter')
    await isAsked()
    await dialog.getByText('What you have changed on this page is not saved.').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await nav.getByRole('link', { name: 'Devices' }).and(page.locator(':focus')).waitFor()
    expect(new URL(page.url()).pathname).toBe(`${site}/settings`)
    expect(await input.inputValue()).toBe('7')

    // The buttons of the browser. Another press while the dialog is open opens no second one.
    await page.evaluate('history.back()')
    await isAsked()
    await page.evaluate('history.back()')
    await page.waitForURL(`**${org}`)
    await stay.click()
    await dialog.waitFor({ state: 'detached' })
    await page.waitForURL(`**${site}/settings`)
    expect(await input.inputValue()).toBe('7')
    await page.evaluate('history.back()')
    await drop.click()
    await page.getByRole('heading', { level: 1, name: 'Bodø' }).waitFor()
    await page.evaluate('history.forward()')
    await page.getByRole('heading', { level: 1, name: 'Settings of Bodø' }).waitFor()
    expect(await outages.getByLabel('Own value of this site').isChecked()).toBe(false)
    await typed()

    // The browser itself asks before a tab closes.
    const native: string[] = []
    page.on('dialog', async (one) => {
      native.push(one.type())
      await one.dismiss()
    })
    const asks = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    await asks
    expect(native).toEqual(['beforeunload'])
    expect(await input.inputValue()).toBe('7')

    // The link to the content adds nothing to the history, and a fragment in the address prevents no question.
    const address = page.url()
    await page.getByRole('link', { name: 'Skip to the content' }).press('Enter')
    await page.getByRole('main').and(page.locator(':focus')).waitFor()
    expect(page.url()).toBe(address)
    await page.evaluate("location.hash = 'typed'")
    for (const name of ['Devices', 'Webhooks']) {
      await nav.getByRole('link', { name }).click()
      await isAsked()
      await stay.click()
      await dialog.waitFor({ state: 'detached' })
    }

    // Signing out asks as well, and then only once.
    const signOut = page.getByRole('button', { name: 'Sign out' })
    await signOut.click()
    await stay.click()
    await dialog.waitFor({ state: 'detached' })

    // What is saved, or is as before, holds nobody.
    await page.getByRole('button', { name: 'Save the settings' }).click()
    await page.getByRole('status').filter({ hasText: 'The settings are saved' }).waitFor()
    await nav.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { level: 1, name: 'Settings', exact: true }).waitFor()
    // Two forms ask once.
    await page.getByLabel('Name', { exact: true }).fill('Renamed')
    await page.getByLabel('Report outages after (minutes)').fill('8')
    await nav.getByRole('link', { name: 'Devices' }).click()
    await stay.click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByLabel('Report outages after (minutes)').fill('')
    await nav.getByRole('link', { name: 'Devices' }).click()
    await drop.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    await nav.getByRole('link', { name: 'Devices' }).and(page.locator(':focus')).waitFor()

    await nav.getByRole('link', { name: 'Settings' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Renamed')
    await page.setViewportSize({ width: 390, height: 844 })
    await signOut.click()
    await isAsked()
    await expectAccessible(page)
    await drop.click()
    await page.waitForURL('**/sign-in')
    expect(native).toEqual(['beforeunload'])
    await context.close()
  })
}
