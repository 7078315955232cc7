import { expect, it } from 'vitest'
import { WITHIN_MS } from './demo.ts'
import type { ConsoleWorld } from './world.ts'

/** The draft of an upgrade in the address of the page. */
export function testDrafts(opened: () => ConsoleWorld): void {
  it('has the same instants for people in different zones', { timeout: WITHIN_MS }, async () => {
    const server = opened()
    const owner = await server.addOrg('Shared')
    const wizard = `/orgs/${owner.orgId}/upgrades/new`
    const { page, context } = await server.enter(owner, `${wizard}?kind=mxedge`)
    await page.getByLabel('Ends', { exact: true }).fill('2099-01-01T03:00')
    await page.getByLabel('Start', { exact: true }).fill('2099-01-01T02:00')
    await page.getByText('In your time zone, Europe/Berlin; empty: immediately').waitFor()
    const { pathname, search } = new URL(page.url())
    await context.close()

    const there = await server.enter(owner, `${pathname}${search}`, { zone: 'America/New_York' })
    const read = (label: string) => there.page.getByLabel(label, { exact: true }).inputValue()
    expect(await read('Ends')).toBe('2098-12-31T21:00')
    expect(await read('Start')).toBe('2098-12-31T20:00')
    await there.page.getByText('In your time zone, America/New_York; empty: immediately').waitFor()
    // A time that was typed into the address without a zone gets that of the first reader.
    await there.page.goto(`${wizard}?end=2099-01-01T03%3A00`)
    expect(await read('Ends')).toBe('2099-01-01T03:00')
    await there.page.waitForURL((url) => url.searchParams.get('end') === '2099-01-01T08:00:00Z')
    // The clock skips this time. It stays as it was typed, with what it means.
    await there.page.getByLabel('Ends', { exact: true }).fill('2099-03-08T02:30')
    await there.page.getByText('Your clock skips this time: 08 Mar 2099, 03:30:00 GMT−4 is meant').waitFor()
    expect(await read('Ends')).toBe('2099-03-08T02:30')
    // So does a time of which the year is being typed.
    await there.page.getByLabel('Ends', { exact: true }).fill('')
    await there.page.getByLabel('Ends', { exact: true }).focus()
    await there.page.keyboard.type('01012099')
    // The year may have six digits.
    await there.page.keyboard.press('ArrowRight')
    await there.page.keyboard.type('0300AM')
    expect(await read('Ends')).toBe('2099-01-01T03:00')
    await there.context.close()
  })
}
