import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { addSite, claimNewDevices, connectDevice } from '../support/fleets/devices.ts'
import { type Fleet, MODEL, NEW, createFleet, seedOrg } from '../support/fleets/fleet.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { press } from './press.ts'
import { styleOf } from './style-of.ts'
import type { ConsoleWorld, SignedIn } from './world.ts'

/** Tests the pages of upgrades of devices and SSR routers, from their plan on. */
export function testUpgrades(opened: () => SignedIn): void {
  let server: ConsoleWorld
  let page: Page
  let org: string

  beforeAll(() => {
    ;({ server, page } = opened())
    org = server.path
  })

  it('shows why a device failed, and retries it to the end of the upgrade', { timeout: WITHIN_MS }, async () => {
    const seeded = await seedOrg(server.ctx, [{ devices: 2, name: 'Bergen', timezone: 'Asia/Tokyo' }], server.org.orgId)
    const devices = seeded.sites.flatMap((site) => site.devices)
    const fleet = createFleet(server.ctx, [seeded])
    await fleet.connect(devices)
    const play = async (reply: Parameters<Fleet['answer']>[0]): Promise<void> => {
      for (let round = 0; round < 3; round += 1) {
        await advanceRollouts(server.ctx, { ...defaultRolloutOptions, soakMs: 0 }, new AbortController().signal)
        await fleet.answer(reply)
      }
    }
    const site = seeded.sites[0]?.id ?? ''
    const map = await server.call('POST', `/sites/${site}/maps`, { body: { name: 'Hall', width: 200, height: 100 } })
    for (const [index, { id }] of devices.entries())
      await server.call('PUT', `/sites/${site}/devices/${id}`, {
        body: { map_id: map.body.id, x: 50 + 100 * index, y: 50 },
      })
    const body = { site_ids: [site], models: [MODEL], version: NEW, strategy: 'big_bang', end_time: 4_000_000_000 }
    const { body: upgrade } = await server.call('POST', `${org}/devices/upgrade`, { body })
    const { body: waits } = await server.call('POST', `${org}/devices/upgrade`, {
      body: { ...body, include_new: true },
    })
    await page.goto(`${org}/upgrades/${waits.id}`)
    const awaited = page.getByText('This upgrade awaits 2 devices that are in other upgrades.')
    await awaited.waitFor()
    await page.getByRole('button', { name: 'Stop waiting…' }).click()
    await page.getByRole('dialog').getByText('no longer takes in the 2 devices').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Stop waiting' }).click()
    await awaited.waitFor({ state: 'detached' })
    await page.goto(`${org}/upgrades/${upgrade.id}`)
    await page.getByText('0 of 2 upgraded').waitFor()
    // Its sites share a zone.
    await page.getByText('Ends on 02 Oct 2096, 16:06:40 GMT+9').waitFor()
    const floor = page.getByRole('region', { name: 'Floor plan' })
    /** The color of a device in a state. */
    const colourOf = async (index: number, state: string): Promise<string | undefined> => {
      const marker = floor.getByRole('img', { name: `${macText(devices[index]?.mac ?? '')}: ${state}` })
      await marker.waitFor()
      return styleOf(marker, 'color')
    }
    const waiting = await colourOf(0, 'Waiting')
    expect(await colourOf(1, 'Waiting')).toBe(waiting)
    await play(({ id }) => (id === devices[0]?.id ? 'refuses_content' : 'upgrades'))
    await page.getByText('1 of 2 upgraded').first().waitFor()
    await page.getByText('Invalid signature').first().waitFor()
    const size = page.viewportSize()
    await page.setViewportSize({ width: 390, height: 844 })
    const failedRow = page.getByRole('region', { name: 'Device rows' }).getByRole('listitem').first()
    await failedRow.getByText('Invalid signature').waitFor()
    if (size !== null) await page.setViewportSize(size)
    await page.getByRole('region', { name: 'Sites' }).getByRole('link', { name: '1 failed at Bergen' }).click()
    await page.getByText('Only those at Bergen').waitFor()
    await failedRow.getByText('Bergen').waitFor()
    expect(await page.getByRole('region', { name: 'Device rows' }).getByRole('listitem').count()).toBe(1)
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Show those of all sites' }).click()
    const [failed, upgraded] = [await colourOf(0, 'Failed'), await colourOf(1, 'Upgraded')]
    expect(new Set([waiting, failed, upgraded]).size).toBe(3)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Retry…' }).click()
    await page.getByRole('dialog').getByText('restarts the 1 failed device again').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page
      .getByRole('navigation', { name: 'Devices by state' })
      .getByRole('link', { name: /^Waiting/ })
      .click()
    await failedRow.getByRole('button').first().focus()
    await play(() => 'upgrades')
    await page.getByText('2 of 2 upgraded').first().waitFor()
    // The focus stays near the row, which is no longer among these.
    await page.getByText('No device is in this state').waitFor()
    await page.getByRole('region', { name: 'Devices', exact: true }).and(page.locator(':focus')).waitFor()
    await page.getByText('Completed').first().waitFor()
    expect(await colourOf(0, 'Upgraded')).toBe(upgraded)
    const timeline = page.getByRole('region', { name: 'Timeline' }).locator('.log-what')
    expect(await timeline.allTextContents()).toEqual([
      'Completed',
      'Phase ended · phase 1',
      'Retried',
      'Phase opened · phase 1',
      'Created',
    ])
  })

  it('excludes a device, and then the others that wait', { timeout: WITHIN_MS }, async () => {
    const site = await addSite(server, 'Stord')
    const [device, other] = await claimNewDevices(server, 4, { siteId: site, model: MODEL })
    const body = { site_ids: [site], version: NEW, strategy: 'big_bang', start_datetime: '2096-01-01T00:00:00' }
    const { body: upgrade } = await server.call('POST', `${org}/devices/upgrade`, { body })
    await page.goto(`${org}/upgrades/${upgrade.id}`)
    const name = macText(device?.mac ?? '')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: `Exclude… ${name}` }).click()
    await dialog.getByText(`Excludes 1 device (${name})`).waitFor()
    await dialog.getByLabel('Note for the record').fill('the rack moves')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Exclude', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const rows = page.getByRole('region', { name: 'Device rows' })
    await rows.getByText(/^excluded by .+: the rack moves$/i).waitFor()
    // The dialog leaves with its row if somebody else is faster, and the focus stays on the page.
    await page.getByRole('button', { name: `Exclude… ${macText(other?.mac ?? '')}` }).click()
    await dialog.waitFor()
    await server.call('POST', `${org}/devices/upgrade/${upgrade.id}/exclude`, { body: { macs: [other?.mac] } })
    await dialog.waitFor({ state: 'detached' })
    await page.locator('main:focus, main :focus').waitFor()
    // Without a choice it would exclude all of them, as a cancellation does.
    const excludeOthers = page.getByRole('button', { name: 'Exclude 2 devices…' })
    expect(await excludeOthers.count()).toBe(0)
    await page.getByRole('navigation', { name: 'Devices by state' }).getByText('Waiting').click()
    await expectAccessible(page)
    await page.route('**/exclude', async (route) => {
      const response = await route.fetch()
      const skipped = [{ reason: 'has restarted with the version', total: 1, macs: [] }]
      await route.fulfill({ response, json: { ...(await response.json()), skipped } })
    })
    await excludeOthers.click()
    await dialog.getByRole('button', { name: 'Exclude 2 devices', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('alert').getByText('Not excluded: 1 device (has restarted with the version)').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await advanceRollouts(server.ctx, defaultRolloutOptions, new AbortController().signal)
    const timeline = page.getByRole('region', { name: 'Timeline' }).locator('.log-what')
    await timeline.getByText('Cancelled').waitFor()
    expect(await timeline.allTextContents()).toEqual([
      'Cancelled',
      ...Array.from({ length: 3 }, () => 'Devices excluded'),
      'Created',
    ])
  })

  it(
    'shows an upgrade of routers beside those of devices, changes it, and plans another',
    { timeout: 2 * WITHIN_MS },
    async () => {
      const headers = { 'content-type': 'application/octet-stream' }
      await server.call('POST', `${org}/firmware?version=6.2.0&models=SSR120&tag=stable`, { body: 'image', headers })
      const site = await addSite(server, 'Trondheim')
      const routers = await claimNewDevices(server, 2, { siteId: site, model: 'SSR120' })
      const capabilities = {
        commands: ['restart', 'stage', 'activate'] as const,
        restart_members: [],
        restart_nodes: [],
      }
      for (const { mac } of routers)
        await connectDevice(server.ctx, mac, { firmware: '6.0.0', model: 'SSR120', type: 'gateway', capabilities })
      await page.goto(`${org}/upgrades`)
      const rows = page.getByRole('listitem')
      await rows.filter({ hasText: '2 devices' }).getByText('Completed').waitFor()
      // The list is open: the stream brings the new upgrade.
      const body = { device_ids: routers.map(({ id }) => id), strategy: 'serial' }
      expect((await server.call('POST', `${org}/ssr/upgrade`, { body })).status).toBe(200)
      const row = rows.filter({ hasText: 'SSR routers' })
      await row.getByText('serial · 1 site · 2 routers').waitFor()
      const byKind = page.getByRole('navigation', { name: 'Upgrades by kind' })
      expect(await styleOf(byKind, 'paddingLeft')).toBe('0px')
      await byKind.getByText('SSR routers').click()
      await rows.filter({ hasText: '2 devices' }).waitFor({ state: 'detached' })
      await expectAccessible(page)
      await row.getByRole('link', { name: 'To 6.2.0' }).click()
      await page.getByRole('heading', { name: 'Upgrade to 6.2.0' }).waitFor()
      await page.getByText('serial, in 2 phases of 1 router each').waitFor()
      await page.getByRole('heading', { name: 'SSR routers' }).waitFor()
      await page.getByRole('region', { name: 'Router rows' }).getByText('6.0.0 → 6.2.0').nth(1).waitFor()
      await page.getByRole('region', { name: 'Sites' }).getByText('Trondheim').waitFor()
      expect(await page.getByRole('region', { name: 'Floor plan' }).count()).toBe(0)
      const router = page.getByRole('button', { name: macText(routers[0]?.mac ?? ''), exact: true })
      await router.click()
      await page.getByRole('dialog').getByText('scheduled').waitFor()
      await page.keyboard.press('Escape')
      // The next device is one step of the keyboard away.
      await router.and(page.locator(':focus')).waitFor()
      await expectAccessible(page)
      await press(page, 'Pause', 'No further commands are sent to the 2 routers')
      await press(page, 'Resume', 'The upgrade continues with the 2 routers')
      await press(page, 'Exclude', 'Excludes 1 router (')
      await page.getByRole('button', { name: 'Cancel the upgrade…' }).click()
      await page.getByRole('dialog').getByText('Cancels the upgrade of 1 router at 1 site').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the upgrade' }).click()
      await page.getByText('Stopping').waitFor()
      await advanceRollouts(server.ctx, defaultRolloutOptions, new AbortController().signal)
      await page.getByText('0 of 2 upgraded. Cancelled by').waitFor()
      await page.getByText('Cancelled', { exact: true }).first().waitFor()

      // A link may name a router that has left its site since then.
      const gone = '00000000-0000-4000-8000-000000000001'
      // There may be thousands of routers.
      const inventory = '**/inventory?**'
      const held = Promise.withResolvers<void>()
      await page.route(inventory, async (route) => {
        await held.promise
        return route.continue()
      })
      await page.goto(`${org}/upgrades/new?kind=ssr&ids=${encodeURIComponent(JSON.stringify([gone]))}`)
      const reading = page.getByText('The routers are being read')
      await reading.waitFor()
      held.resolve()
      await reading.waitFor({ state: 'detached' })
      await page.unroute(inventory)
      const stale = page.getByLabel(`${gone} (no longer in a site)`)
      // It leaves the list as soon as it is no longer chosen.
      await stale.click()
      await stale.waitFor({ state: 'detached' })
      expect(await page.getByRole('group', { name: 'Routers' }).getByRole('checkbox', { checked: true }).count()).toBe(
        0,
      )
      await page.goto(`${org}/upgrades?kind=ssr`)
      const versions = '**/ssr/versions?**'
      await page.route(versions, (route) => route.fulfill({ status: 400, json: { detail: 'Not now' } }))
      await page.getByRole('link', { name: 'New upgrade' }).click()
      await page.getByText('Some versions could not be read: Not now').waitFor()
      await page.unroute(versions)
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByLabel('All routers').uncheck()
      // Only what the interface takes for them is offered.
      for (const label of ['Sites', 'Models', 'Rules', 'Approval', 'Stops after failures (%)'])
        expect(await page.getByLabel(label, { exact: true }).count()).toBe(0)
      const preview = page.getByRole('button', { name: 'Preview the plan' })
      await preview.click()
      const choice = page.getByRole('group', { name: 'Routers' })
      await choice.getByText('Invalid field device_ids').waitFor()
      await choice.getByLabel(`${macText(routers[1]?.mac ?? '')} (SSR120)`).check()
      await page.getByLabel('Version', { exact: true }).selectOption('6.2.0')
      await page.getByLabel('Start').fill('2026-01-01T00:00')
      await preview.click()
      await page.getByText('Invalid field start_time: ').waitFor()
      await page.getByLabel('Steps').selectOption('Only download')
      expect(await page.getByLabel('Reboot').count()).toBe(0)
      await page.getByLabel('Start').fill('')
      await page.getByLabel('In another upgrade').selectOption({ index: 1 })
      await page.getByLabel('Maintenance windows').selectOption('Of this upgrade')
      const windows = page.getByLabel('Windows', { exact: true })
      await windows.fill('sat 22:00-4')
      await preview.click()
      await page.getByText('Invalid field maintenance_windows.0.end').waitFor()
      await windows.fill('00:00-24:00')
      await page.getByLabel('Begins').selectOption('After an approval')
      await preview.click()
      await page.getByText('Downloads the version to 1 router in 1 phase').waitFor()
      await page.getByText('Takes over the router if another upgrade has not begun with it.').waitFor()
      await page.getByText('Begins only within 00:00-24:00, on the clocks of the site.').waitFor()
      await page.getByText('Begins once a person has approved it.').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Start the upgrade…' }).click()
      await page.getByRole('dialog').getByText('Downloads the version to 1 router at 1 site, in 1 phase.').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
      await page.getByText('big bang, 1 router at once').waitFor()
      await page.getByRole('button', { name: 'Approve the start…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Approve the start' }).click()
      await page.getByRole('button', { name: 'Pause…' }).waitFor()
      await page.goto(`${org}/sites/${site}`)
      const atSite = page.getByRole('region', { name: 'Upgrades' })
      await atSite.getByText('0 of 1 upgraded').waitFor()
      await atSite.getByText('SSR routers').nth(1).waitFor()
      await expectAccessible(page)
      await atSite.getByRole('link', { name: 'To 6.2.0' }).first().click()
      await page.getByRole('heading', { name: 'Upgrade to 6.2.0' }).waitFor()
    },
  )
}

export function macText(mac: string): string {
  return mac.match(/.{2}/g)?.join(':') ?? mac
}
