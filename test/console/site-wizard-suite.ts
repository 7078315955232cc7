import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { uploadPackage } from '../edge/upgrades/packages.ts'
import { addBox } from '../edge/upgrades/upgrade-world.ts'
import { NEW, seedOrg } from '../support/fleets/fleet.ts'
import { addPerson, addPrivilege } from '../support/people.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { macText } from './upgrades-suite.ts'
import type { ConsoleWorld } from './world.ts'

/** The upgrades that a person with a role in a single site starts there. */
export function testSiteWizard(opened: () => ConsoleWorld): void {
  it('lets a role in a single site start upgrades of each kind there', { timeout: WITHIN_MS }, async () => {
    const server = opened()
    const owner = await server.addOrg('Started')
    const org = `/orgs/${owner.orgId}`
    const seeds = [
      { devices: 3, name: 'Bergen', timezone: 'Asia/Tokyo' },
      { devices: 1, name: 'Voss', model: 'AP12' },
    ]
    const [site, other] = (await seedOrg(server.ctx, seeds, owner.orgId)).sites
    const siteId = site?.id ?? ''
    const person = await addPerson(server, [])
    const at = { orgId: owner.orgId, adminId: person.adminId }
    await addPrivilege(server, at, { scope: 'site', role: 'write', site_id: siteId })
    const { page, context } = await server.enter(person, `${org}/sites/${siteId}`)
    const refused: string[] = []
    page.on('response', (answer) => {
      if (answer.status() === 403) refused.push(answer.url())
    })
    const panel = page.getByRole('region', { name: 'Upgrades' })
    const begin = async (): Promise<void> => {
      await panel.getByRole('link', { name: 'New upgrade' }).click()
      await page.getByRole('heading', { level: 1, name: 'New upgrade' }).waitFor()
    }
    const preview = page.getByRole('button', { name: /^Preview/ })
    const start = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Start the upgrade…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
      await page.getByRole('heading', { level: 1, name: 'Bergen' }).waitFor()
    }

    await begin()
    // The site is given, and models of other sites are not offered.
    expect(await page.getByLabel('All sites').count()).toBe(0)
    await page.getByLabel('All models').uncheck()
    await page.getByLabel('AP45 (3)').check()
    expect(await page.getByLabel(/^AP12/).count()).toBe(0)
    expect(await page.getByLabel('Strategy', { exact: true }).locator('option').allTextContents()).toEqual([
      ...['Canary', 'Serial', 'By radio neighborhood', 'Big bang'],
    ])
    await page.getByLabel('Upgraded after each phase (%)').fill('50, 10')
    await page.getByLabel('Begins', { exact: true }).selectOption('After an approval')
    await page.getByLabel('Joining later').selectOption('Taken in until it ends')
    // The fields are on the clock of the site, as the plan.
    await page.getByText('In the time zone of the site, Asia/Tokyo; empty: when it has upgraded all').waitFor()
    await page.getByLabel('Ends', { exact: true }).fill('2096-10-02T16:06')
    expect(new URL(page.url()).searchParams.get('end')).toBe('2096-10-02T07:06:00Z')
    await expectAccessible(page)
    await preview.press('Enter')
    await page.getByText('Invalid field canary_phases: must rise').waitFor()
    await page.locator(':focus').and(page.getByLabel('Upgraded after each phase (%)')).waitFor()
    await page.getByLabel('Upgraded after each phase (%)').fill('50')
    // A time that was typed into the address without a zone is on the same clock.
    const typed = new URL(page.url())
    typed.searchParams.set('end', '2096-10-02T16:06')
    await page.goto(typed.href)
    expect(await page.getByLabel('Ends', { exact: true }).inputValue()).toBe('2096-10-02T16:06')
    // The draft is in the address.
    await page.reload()
    expect(await page.getByLabel('Upgraded after each phase (%)').inputValue()).toBe('50')
    await preview.click()
    await page.getByText('Upgrades 3 devices in 2 phases').waitFor()
    await page.getByText('Begins once a person has approved it.').waitFor()
    expect(await page.getByLabel('Ends', { exact: true }).inputValue()).toBe('2096-10-02T16:06')
    await page.getByText('Ends on 02 Oct 2096, 16:06:00 GMT+9: each device').waitFor()
    await page.getByRole('cell', { name: /Bergen 2 devices, from .* GMT\+9/ }).waitFor()
    await expectAccessible(page)
    await page.setViewportSize({ width: 390, height: 844 })
    await expectAccessible(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await page.setViewportSize({ width: 1280, height: 860 })
    // What has changed since is shown, and nothing begins.
    const gone = { op: 'delete', macs: [site?.devices[0]?.mac] }
    await server.call('PUT', `${org}/inventory`, { body: gone, as: owner })
    await page.getByRole('button', { name: 'Start the upgrade…' }).click()
    await page.getByRole('dialog').getByText('Upgrades and restarts 3 devices at 1 site').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
    await page.getByText('Nothing was started: 1 fact that the plan relied on changed').waitFor()
    await page.getByText('Upgrades 2 devices in 2 phases').waitFor()
    await start()
    await panel.getByText('0 of 2 upgraded').waitFor()
    await panel.getByRole('button', { name: 'Approve…' }).waitFor()
    const { body: upgrades } = await server.call('GET', `/sites/${siteId}/upgrades`, { as: person })
    expect(upgrades).toMatchObject([{ kind: 'device', strategy: 'canary', counts: { total: 2 } }])

    // A site upgrades one router at a time, without a strategy, but with an approval.
    await begin()
    await page.getByLabel('Upgrade of').selectOption('SSR routers')
    await page
      .getByLabel('Router', { exact: true })
      .getByText('No SSR router at this site')
      .waitFor({ state: 'attached' })
    expect(await preview.count()).toBe(0)
    expect(await page.getByRole('region', { name: '2. Strategy' }).count()).toBe(0)
    const routers = { devices: 2, type: 'gateway' as const, model: 'SSR120' }
    const [lab] = (await seedOrg(server.ctx, [routers], owner.orgId)).sites
    const [, second] = lab?.devices ?? []
    for (const { mac } of lab?.devices ?? [])
      await server.call('PUT', `${org}/inventory`, { body: { op: 'assign', site_id: siteId, macs: [mac] }, as: owner })
    await page.reload()
    await page.getByLabel('Router', { exact: true }).selectOption(`${macText(second?.mac ?? '')} (SSR120)`)
    for (const label of ['Joining later', 'Strategy'])
      expect(await page.getByLabel(label, { exact: true }).count()).toBe(0)
    await page.getByLabel('Version', { exact: true }).selectOption(NEW)
    await page.getByText('empty: as soon as the router has downloaded').waitFor()
    await page.getByLabel('Start').fill('2020-01-01T00:00')
    await preview.click()
    await page.getByText('Invalid field start_time: ').waitFor()
    await page.getByLabel('Start').fill('')
    await page.getByLabel('Ends', { exact: true }).fill('')
    await page.getByText('One router has one phase.').waitFor()
    await page.getByLabel('Begins', { exact: true }).selectOption('After an approval')
    await expectAccessible(page)
    await preview.click()
    await page.getByText('Upgrades 1 router in 1 phase').waitFor()
    await page.getByText('Begins once a person has approved it.').waitFor()
    await start()
    await panel.getByText('· SSR routers').waitFor()
    const { body: routed } = await server.call('GET', `/sites/${siteId}/upgrades?kind=ssr`, { as: person })
    const { body: targets } = await server.call('GET', `/sites/${siteId}/ssr/upgrade/${routed[0].id}/targets`, {
      as: person,
    })
    expect(targets).toMatchObject([{ mac: second?.mac }])

    // Only the appliances of the site are offered.
    await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
    await uploadPackage(server, '2.0.0', { org: owner })
    for (const [name, place] of [
      ['Edge one', siteId],
      ['Edge two', other?.id],
    ]) {
      const box = await addBox(server, { org: owner, body: { name } })
      const body = { mxedge_ids: [box], site_id: place }
      await server.call('POST', `${org}/mxedges/assign`, { body, as: owner })
    }
    await begin()
    await page.getByLabel('Upgrade of').selectOption('Edge appliances')
    await page.getByLabel('tunterm').selectOption('2.0.0')
    await page.getByLabel('All appliances').uncheck()
    expect(await page.getByLabel('Edge two').count()).toBe(0)
    await page.getByLabel('Edge one').check()
    await page.getByText('One appliance has one phase.').waitFor()
    expect(await page.getByLabel('Strategy', { exact: true }).count()).toBe(0)
    await page.getByText('empty: when it has upgraded it').waitFor()
    await preview.click()
    await page.getByText('Upgrades 1 appliance in 1 phase').waitFor()
    await page.getByRole('cell', { name: /^from .* GMT\+9 Edge one/ }).waitFor()
    // The answer is lost, though the upgrade has begun: to repeat the start leads to it.
    await page.route('**/mxedges/upgrade', async (route) => {
      await route.fetch()
      await route.fulfill({ status: 504, body: '' })
    })
    await page.getByRole('button', { name: 'Start the upgrade…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
    await page.getByRole('dialog').getByText('The change may have been made: look before you repeat it.').waitFor()
    await page.unroute('**/mxedges/upgrade')
    // The words of the refusal do not matter.
    await page.route('**/mxedges/upgrade', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { detail: 'Invalid field plan_id: in other words' } })
    })
    await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
    await page.getByRole('heading', { level: 1, name: 'Bergen' }).waitFor()
    await page.unroute('**/mxedges/upgrade')
    await panel.getByText('To tunterm 2.0.0').waitFor()
    expect(refused).toEqual([])

    await page.goto(`${org}/sites/${other?.id}/upgrades/new`)
    await page.getByText('Your role does not reach this site, or there is none').waitFor()
    await context.close()
  })
}
