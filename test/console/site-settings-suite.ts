import { expect, it } from 'vitest'
import { addSite } from '../support/fleets/devices.ts'
import { addPerson, addPrivilege } from '../support/people.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import type { ConsoleWorld } from './world.ts'

/** The settings that apply at a single site. */
export function testSiteSettings(opened: () => ConsoleWorld): void {
  it('shows what a site inherits, and lets it have its own settings', { timeout: WITHIN_MS }, async () => {
    const server = opened()
    const owner = await server.addOrg('Inherited')
    const org = `/orgs/${owner.orgId}`
    const windows = [{ days: ['sat'], start: '22:00', end: '04:00' }]
    const body = {
      ...{ maintenance_windows: windows, device_updown_threshold: 9 },
      auto_upgrade: { enabled: true, day_of_week: 'sun', future: 'kept' },
      switch: { networks: { lab: { vlan_id: 7 } } },
    }
    await server.call('PUT', `${org}/setting`, { body, as: owner })
    const siteId = await addSite(server, 'Bodø', owner)
    const setting = `/sites/${siteId}/setting`
    const stored = async () => (await server.call('GET', setting, { as: owner })).body
    const { page, context } = await server.enter(owner, `${org}/sites/${siteId}`)
    await page.getByRole('main').getByRole('link', { name: 'Settings', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: /^Settings of / }).waitFor()
    const unit = (name: string) => page.getByRole('group', { name, exact: true })
    const own = (name: string) => unit(name).getByLabel('Own value of this site')
    const input = (name: string, label = name) => unit(name).getByLabel(label, { exact: true })
    const save = page.getByRole('button', { name: 'Save the settings' })
    const saved = page.getByRole('status').filter({ hasText: 'The settings are saved' })

    const aps = 'Automatic upgrades of access points'
    const outages = 'Report outages after (minutes)'
    expect(await input(aps, 'Day').inputValue()).toBe('sun')
    expect(await input(aps, 'Day').isDisabled()).toBe(true)
    expect(await input('Maintenance windows').inputValue()).toBe('sat 22:00-04:00')
    await unit(aps).getByText('From the organization').waitFor()
    await unit('SSR routers').getByText('The organization has none').waitFor()
    await expectAccessible(page)

    // With the keyboard alone.
    await own(aps).focus()
    await page.keyboard.press('Space')
    await input(aps, 'Time').fill('25:00')
    await own(outages).check()
    await input(outages).fill('3')
    await page.keyboard.press('Enter')
    await page.getByText('Invalid field auto_upgrade.time_of_day').waitFor()
    await page.locator(':focus').and(input(aps, 'Time')).waitFor()
    expect(await stored()).toEqual(expect.not.objectContaining({ device_updown_threshold: expect.anything() }))
    await expectAccessible(page)
    await input(aps, 'Time').fill('03:30')
    await own('Switches').check()
    await unit('Switches').getByLabel('Upgrade new switches').check()
    // What the site has not chosen itself follows the organization.
    await server.call('PUT', `${org}/setting`, { body: { switch_updown_threshold: 4 }, as: owner })
    await save.click()
    await saved.waitFor()
    expect(await stored()).toMatchObject({
      auto_upgrade: { enabled: true, day_of_week: 'sun', time_of_day: '03:30', future: 'kept' },
      device_updown_threshold: 3,
      switch: { networks: { lab: { vlan_id: 7 } }, auto_upgrade: { enabled: true, snapshot: false } },
    })
    expect(await stored()).toEqual(expect.not.objectContaining({ maintenance_windows: expect.anything() }))
    expect(await input('For switches (minutes)').inputValue()).toBe('4')

    await own(outages).uncheck()
    expect(await input(outages).inputValue()).toBe('9')
    await own(aps).uncheck()
    await own('Maintenance windows').check()
    await input('Maintenance windows').fill('')
    await save.click()
    await saved.waitFor()
    const { body: derived } = await server.call('GET', `${setting}/derived`, { as: owner })
    expect(derived).toMatchObject({ ...body, maintenance_windows: null, switch: { auto_upgrade: { enabled: true } } })
    expect(await stored()).toEqual(expect.not.objectContaining({ auto_upgrade: expect.anything() }))
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await context.close()
  })

  it(
    'asks before it replaces or drops what somebody else has made of the same key',
    { timeout: WITHIN_MS },
    async () => {
      const server = opened()
      const owner = await server.addOrg('Two tabs')
      const siteId = await addSite(server, 'Bodø', owner)
      const setting = `/sites/${siteId}/setting`
      const write = (body: object) => server.call('PUT', setting, { body, as: owner })
      const stored = async () => (await server.call('GET', setting, { as: owner })).body
      await write({ auto_upgrade: { enabled: true, day_of_week: 'sun' } })
      const { page, context } = await server.enter(owner, `/orgs/${owner.orgId}/sites/${siteId}/settings`)
      const unit = page.getByRole('group', { name: 'Automatic upgrades of access points', exact: true })
      const own = unit.getByLabel('Own value of this site')
      const save = page.getByRole('button', { name: 'Save the settings' })
      const saved = page.getByRole('status').filter({ hasText: 'The settings are saved' })

      await unit.getByLabel('Time', { exact: true }).fill('03:30')
      await write({ '-auto_upgrade': '' })
      await save.click()
      await page.getByText('Own value of this site is now off. Save again to replace it.').waitFor()
      expect(await stored()).toEqual(expect.not.objectContaining({ auto_upgrade: expect.anything() }))
      expect(await own.isChecked()).toBe(true)
      await save.click()
      await saved.waitFor()
      expect(await stored()).toMatchObject({ auto_upgrade: { time_of_day: '03:30' } })

      await own.uncheck()
      await write({ auto_upgrade: { enabled: true, time_of_day: '05:30' } })
      await save.click()
      await page.getByText('Time is now "05:30"').waitFor()
      expect(await stored()).toMatchObject({ auto_upgrade: { time_of_day: '05:30' } })
      await save.click()
      await saved.waitFor()
      expect(await stored()).toEqual(expect.not.objectContaining({ auto_upgrade: expect.anything() }))
      await context.close()
    },
  )

  it(
    'shows a role in a single site what its site has, and keeps what it does not see',
    { timeout: WITHIN_MS },
    async () => {
      const server = opened()
      const owner = await server.addOrg('Kept')
      const org = `/orgs/${owner.orgId}`
      const siteId = await addSite(server, 'Bodø', owner)
      const setting = `/sites/${siteId}/setting`
      const body = { ap_updown_threshold: 8, switch: { radius_config: { auth_servers: [{ secret: 'hidden' }] } } }
      await server.call('PUT', `${org}/setting`, { body, as: owner })
      await server.call('PUT', setting, { body: { device_updown_threshold: 5 }, as: owner })
      const person = await addPerson(server, [])
      const at = { orgId: owner.orgId, adminId: person.adminId }
      await addPrivilege(server, at, { scope: 'site', role: 'write', site_id: siteId })
      const { page, context } = await server.enter(person, `${org}/sites/${siteId}/settings`)
      const unit = (name: string) => page.getByRole('group', { name, exact: true })
      await unit('For access points (minutes)').getByText('From the organization').waitFor()
      expect(await unit('Switches').count()).toBe(0)
      await page.getByText('Further fields can be changed only by the API').waitFor()
      const outages = unit('Report outages after (minutes)')
      await outages.getByLabel('Own value of this site').uncheck()
      await outages.getByText('That of the organization applies once this is saved').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Save the settings' }).click()
      await outages.getByText('The organization has none').waitFor()
      const { body: derived } = await server.call('GET', `${setting}/derived`, { as: owner })
      expect(derived).toMatchObject(body)
      expect(derived).toEqual(expect.not.objectContaining({ device_updown_threshold: expect.anything() }))
      await page.goto(`${org}/sites/00000000-0000-4000-8000-000000000000/settings`)
      await page.getByText('Your role does not reach this site, or there is none').waitFor()
      await context.close()
    },
  )
}
