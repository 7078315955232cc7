import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { uploadPackage } from '../edge/packages.ts'
import { addBox, playUpgrades, upgrade as upgradeBoxes } from '../edge/upgrade-world.ts'
import { noChromium } from '../support/peers/chromium.ts'
import { type MadeDevice, addSite, claimNewDevices, connectDevice, makeDevices } from '../support/fleets/devices.ts'
import { type Fleet, MODEL, NEW, createFleet, seedOrg } from '../support/fleets/fleet.ts'
import { waitUntil } from '../support/wait-until.ts'
import { picture } from '../maps/pictures.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { styleOf } from './style-of.ts'
import { type ConsoleWorld, startConsole } from './world.ts'

describe.skipIf(noChromium !== null)(
  `the console and the places of devices${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    let server: ConsoleWorld
    let page: Page
    let org: string
    let siteId: string
    let device: MadeDevice
    let other: MadeDevice

    beforeAll(async () => {
      server = await startConsole()
      org = server.path
      ;({ page } = await server.enter(server.org, org))
      const [first, second] = await makeDevices(server.ctx, 2)
      if (first === undefined || second === undefined) throw new Error('no devices')
      device = first
      other = second
      await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
    }, 240_000)
    afterAll(() => server.close())

    const onPlan = async (mac: string): Promise<AnyJson> =>
      (await server.call('GET', `/sites/${siteId}/devices/00000000-0000-0000-1000-${mac}`)).body

    /** Clicks on the plan, at shares of its width and height. */
    async function clickAt(x: number, y: number): Promise<void> {
      const plan = page.getByRole('button', { name: 'Mark a point' })
      const box = await plan.boundingBox()
      if (box === null) throw new Error('the plan has no size')
      await plan.click({ position: { x: x * box.width, y: y * box.height } })
    }

    it('says that an upgrade of an empty organization would do nothing', { timeout: WITHIN_MS }, async () => {
      await page.goto(`${org}/upgrades/new`)
      await page.getByRole('button', { name: 'Preview the plan' }).click()
      const plan = page.getByRole('region', { name: '3. Plan' })
      await plan.getByText('No device would be upgraded.').waitFor()
      await plan.getByText('the organization has no site').waitFor()
      expect(await plan.getByRole('table').count()).toBe(0)
      await page.goto(org)
    })

    it('leads from an empty organization to the first connected device', { timeout: WITHIN_MS }, async () => {
      await page.getByLabel('Name of a new site').fill('Oslo')
      await page.getByLabel('Time zone').fill('Europe/Nowhere')
      await page.getByRole('button', { name: 'Create the site' }).click()
      await page.getByText('Invalid field timezone').waitFor()
      await page.getByLabel('Time zone').fill('Europe/Oslo')
      await page.getByRole('button', { name: 'Create the site' }).click()
      await page.waitForURL(`**${org}/claim`)
      const { body: sites } = await server.call('GET', `${org}/sites`)
      siteId = sites[0].id
      expect(sites).toMatchObject([{ name: 'Oslo', timezone: 'Europe/Oslo' }])

      await page.getByText('Claimed devices are awaited here').waitFor()
      await page.getByLabel('Claim codes').fill(`${device.claim_code}, ${other.claim_code}\nNOT-A-CODE`)
      await page.getByRole('button', { name: 'Claim 3 devices' }).click()
      await page.getByText('Claimed 2 devices.').waitFor()
      await page.getByText('NOT-A-CODE: ').waitFor()
      expect(await page.getByLabel('Claim codes').inputValue()).toBe('NOT-A-CODE')
      await page.getByText('Waiting for it to connect').nth(1).waitFor()
      await page.getByText(`device-certificate ${macText(device.mac)}`).waitFor()
      await page.getByText('Switches and gateways with Junos').click()
      await page.getByText('set system services outbound-ssh').waitFor()
      await expectAccessible(page)
      await page.reload()
      await page.getByText('Waiting for it to connect').nth(1).waitFor()
      await connectDevice(server.ctx, device.mac)
      await page.getByText('Connected', { exact: true }).waitFor()
      expect(await page.getByText('Waiting for it to connect').count()).toBe(1)
    })

    it('leads from the overview to a site, and to its first floor plan', { timeout: WITHIN_MS }, async () => {
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('link', { name: 'Oslo' }).click()
      await page.getByRole('heading', { name: 'Oslo' }).waitFor()
      await page.getByText('1 connected, 1 disconnected').waitFor()
      await page.getByRole('region', { name: 'Events' }).getByText('AP connected').waitFor()
      await expectAccessible(page)
      await page.getByLabel('Name of a new floor plan').fill('Ground floor')
      await page.getByRole('button', { name: 'Add the floor plan' }).click()
      await page.getByRole('heading', { name: 'Ground floor' }).waitFor()
      const file = { name: 'plan.png', mimeType: 'image/png', buffer: await picture(640, 480) }
      const gate = Promise.withResolvers<void>()
      await page.route('**/image', async (route) => {
        await gate.promise
        await route.continue()
      })
      await page.getByLabel('Picture of the floor').setInputFiles(file)
      await page.getByRole('button', { name: 'Upload the picture' }).click()
      await page.getByRole('progressbar', { name: 'Upload' }).waitFor()
      await page.getByRole('button', { name: 'End the upload' }).click()
      await page.getByText('The upload was ended').waitFor()
      gate.resolve()
      await page.getByRole('button', { name: 'Upload the picture' }).click()
      await page.locator('.plan img').waitFor()
      await expectAccessible(page)
    })

    it('leads from one mark to each of several near sites', { timeout: WITHIN_MS }, async () => {
      const { body: near } = await server.call('POST', `${org}/sites`, {
        body: { name: 'Oslo harbour', timezone: 'Europe/Oslo', latlng: { lat: 59.911, lng: 10.75 } },
      })
      await server.call('PUT', `/sites/${siteId}`, { body: { latlng: { lat: 59.913, lng: 10.752 } } })
      for (const [name, id] of [
        ['Oslo', siteId],
        ['Oslo harbour', near.id],
      ] as const) {
        await page.goto(org)
        await page.getByRole('button', { name: '+1 more site: 1 of 2 devices away' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByText('2 sites here').waitFor()
        await expectAccessible(page)
        await dialog.getByRole('link', { name, exact: true }).click()
        await page.waitForURL(`**${org}/sites/${id}`)
      }
      await server.call('DELETE', `/sites/${near.id}`)
      await page.goto(org)
      await page.getByText('Add a site').click()
      await page.getByLabel('Name of a new site').fill('Narvik')
      await page.getByRole('button', { name: 'Create the site' }).click()
      await page.getByRole('heading', { name: 'Narvik' }).waitFor()
      await page.goto(`${org}/sites/${siteId}`)
      await page.getByRole('region', { name: 'Floor plans' }).getByRole('link', { name: 'Ground floor' }).click()
      await page.locator('.plan img').waitFor()
    })

    it('places devices by the pointer and by keys, and turns them', { timeout: WITHIN_MS }, async () => {
      await page.getByRole('button', { name: `Place ${macText(device.mac)}` }).click()
      await clickAt(0.25, 0.5)
      const marker = page.getByRole('button', { name: `${macText(device.mac)}, Connected, at` })
      await marker.waitFor()
      expect(await onPlan(device.mac)).toMatchObject({ x: near(160), y: near(240) })

      await marker.hover()
      await page.mouse.down()
      const box = await page.locator('.plan').boundingBox()
      if (box === null) throw new Error('the plan has no size')
      await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.25 * box.height, { steps: 4 })
      await page.mouse.up()
      await waitUntil('the place is stored', async () => (await onPlan(device.mac))['y'] < 130)
      const { x, y } = await onPlan(device.mac)
      expect({ x, y }).toEqual({ x: near(320), y: near(120) })
      await page.getByRole('button', { name: `Connected, at ${x}, ${y}` }).press('Shift+ArrowRight')
      await page.getByRole('button', { name: `Connected, at ${x + 1}, ${y}` }).waitFor()
      await waitUntil('the place is stored', async () => (await onPlan(device.mac))['x'] === x + 1)

      // The chosen device is in the address.
      await page.reload()
      await page.getByLabel('Orientation in degrees').fill('90')
      await page.keyboard.press('Tab')
      await waitUntil('the place is stored', async () => (await onPlan(device.mac))['orientation'] === 90)
      await page.locator('.plan-heading').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Remove from the plan' }).click()
      await marker.waitFor({ state: 'detached' })
      expect((await onPlan(device.mac))['map_id'] ?? null).toBeNull()
    })

    it('sets the scale, and draws walls and geofences', { timeout: WITHIN_MS }, async () => {
      await page.getByRole('button', { name: 'Set the scale' }).click()
      await clickAt(0.25, 0.5)
      await clickAt(0.75, 0.5)
      await page.getByLabel('Length in metres').fill('16')
      await page.getByRole('button', { name: 'Keep the drawing' }).click()
      await page.getByText('32.0 m wide').waitFor()

      await page.getByRole('button', { name: 'Draw walls' }).click()
      for (const [x, y] of [
        [0.1, 0.1],
        [0.9, 0.1],
        [0.9, 0.9],
      ] as const)
        await clickAt(x, y)
      await page.getByText('3 points marked').waitFor()
      await page.getByRole('button', { name: 'Take the last point back' }).click()
      await page.getByRole('button', { name: 'Keep the drawing' }).click()
      await page.getByText('1 wall', { exact: true }).waitFor()

      // With only the keyboard: the plan has the focus.
      await page.getByRole('button', { name: 'Draw a geofence' }).click()
      await page.getByText('0 points marked').waitFor()
      for (const key of ['Enter', 'ArrowRight', 'Enter', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
      await page.getByText('3 points marked').waitFor()
      await expectAccessible(page)
      await page.getByLabel('Name', { exact: true }).first().fill('Lobby')
      await page.getByRole('button', { name: 'Keep the drawing' }).click()
      await page.getByText('1 geofence Lobby', { exact: true }).waitFor()
      const { body } = await server.call('GET', `/sites/${siteId}/maps`)
      expect(body).toMatchObject([
        {
          ppm: expect.closeTo(20, 0),
          wall_path: { nodes: [{ edges: { N2: '1' } }, { name: 'N2' }] },
          geofences: [
            {
              name: 'Lobby',
              vertices: [
                { X: 320, Y: 240 },
                { X: 326, Y: 240 },
                { X: 326, Y: 246 },
              ],
            },
          ],
        },
      ])
      await page.getByRole('button', { name: 'Delete Lobby…' }).click()
      await page.getByRole('dialog').getByText('Removes 1 geofence (Lobby). Devices keep their places').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete Lobby' }).click()
      await page.getByText('1 geofence Lobby', { exact: true }).waitFor({ state: 'detached' })
    })

    it('leads from floor to floor of a building, and back to the site', { timeout: WITHIN_MS }, async () => {
      const stack = await server.call('POST', `/sites/${siteId}/mapstacks`, { body: { name: 'Tower' } })
      const first = { name: 'First floor', mapstack_id: stack.body.id, mapstack_floor: 1 }
      await server.call('POST', `/sites/${siteId}/maps`, { body: first })
      await page.reload()
      await page.getByLabel('Building').fill('Tower')
      await page.getByRole('button', { name: 'Change the plan' }).click()
      await page.getByRole('navigation', { name: 'Floors' }).getByRole('link', { name: 'First floor' }).click()
      await page.getByRole('heading', { name: 'First floor' }).waitFor()
      await page.getByRole('button', { name: 'Delete the plan…' }).click()
      await page
        .getByRole('dialog')
        .getByText('Deletes 1 floor plan (First floor). 0 devices lose their places.')
        .waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the plan' }).click()
      await page.getByRole('heading', { name: 'Oslo' }).waitFor()
      await page.getByRole('region', { name: 'Floor plans' }).getByRole('link', { name: 'Ground floor' }).waitFor()
    })

    it('shows why a device failed, and retries it to the end of the upgrade', { timeout: WITHIN_MS }, async () => {
      const seeded = await seedOrg(server.ctx, [{ devices: 2, name: 'Bergen' }], server.org.orgId)
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
      const body = { site_ids: [site], models: [MODEL], version: NEW, strategy: 'big_bang' }
      const { body: upgrade } = await server.call('POST', `${org}/devices/upgrade`, { body })
      await page.goto(`${org}/upgrades/${upgrade.id}`)
      await page.getByText('0 of 2 upgraded').waitFor()
      const floor = page.getByRole('region', { name: 'Floor plan' })
      /** The colour of a device in a state. */
      const colourOf = async (index: number, state: string): Promise<string | undefined> => {
        const marker = floor.getByRole('img', { name: `${macText(devices[index]?.mac ?? '')}: ${state}` })
        await marker.waitFor()
        return styleOf(marker, 'color')
      }
      const waiting = await colourOf(0, 'Waiting')
      expect(await colourOf(1, 'Waiting')).toBe(waiting)
      await play(({ id }) => (id === devices[0]?.id ? 'refuses_content' : 'upgrades'))
      await page.getByText('1 of 2 upgraded').waitFor()
      await page.getByText('Invalid signature').first().waitFor()
      const [failed, upgraded] = [await colourOf(0, 'Failed'), await colourOf(1, 'Upgraded')]
      expect(new Set([waiting, failed, upgraded]).size).toBe(3)
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Retry…' }).click()
      await page.getByRole('dialog').getByText('restarts the 1 failed device again').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await play(() => 'upgrades')
      await page.getByText('2 of 2 upgraded').waitFor()
      await page.getByText('Completed').first().waitFor()
      expect(await colourOf(0, 'Upgraded')).toBe(upgraded)
    })

    it('shows an upgrade of routers beside those of devices, and cancels it', { timeout: WITHIN_MS }, async () => {
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
      await page.getByRole('region', { name: 'Device rows' }).getByText('6.0.0 → 6.2.0').nth(1).waitFor()
      await page.getByRole('region', { name: 'Sites' }).getByText('Trondheim').waitFor()
      expect(await page.getByRole('region', { name: 'Floor plan' }).count()).toBe(0)
      await page.getByRole('button', { name: macText(routers[0]?.mac ?? '') }).click()
      await page.getByRole('dialog').getByText('scheduled').waitFor()
      await page.keyboard.press('Escape')
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Cancel the upgrade…' }).click()
      // The interface has no pause for them.
      expect(await page.getByRole('button', { name: 'Pause…' }).count()).toBe(0)
      await page.getByRole('dialog').getByText('Cancels the upgrade of 2 routers at 1 site').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel the upgrade' }).click()
      await page.getByText('Stopping').waitFor()
      await advanceRollouts(server.ctx, defaultRolloutOptions, new AbortController().signal)
      await page.getByText('0 of 2 upgraded. Cancelled by').waitFor()
      await page.getByText('Cancelled', { exact: true }).first().waitFor()
    })

    it('follows an upgrade of edge appliances to its end, paused and retried', { timeout: WITHIN_MS }, async () => {
      await uploadPackage(server, '2.0.0')
      const boxes = [await addBox(server), await addBox(server)]
      const wanted = {
        mxedge_ids: boxes,
        strategy: 'serial',
        versions: { tunterm: '2.0.0' },
        max_failure_percentage: 100,
      }
      const { id } = await upgradeBoxes(server, wanted)
      await page.goto(`${org}/upgrades/${id}`)
      await page.getByRole('heading', { name: 'Upgrade to tunterm 2.0.0' }).waitFor()
      await page.getByText('Not begun: 0 of 2 upgraded').waitFor()
      const table = page.getByRole('region', { name: 'Appliances' })
      await table.getByText('tunterm 1.0.0 → 2.0.0').nth(1).waitFor()
      await page.getByText(/^starts \S/).waitFor()
      expect(await table.getByRole('columnheader', { name: 'Cause' }).count()).toBe(0)
      await expectAccessible(page)
      const press = async (action: string): Promise<void> => {
        await page.getByRole('button', { name: `${action}…` }).click()
        await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
      await press('Pause')
      await page.getByText('Paused', { exact: true }).waitFor()
      // It begins when somebody resumes it, not at its start.
      expect(await page.getByText(/^starts \S/).count()).toBe(0)
      await press('Resume')
      await page.getByRole('button', { name: 'Pause…' }).waitFor()
      await playUpgrades(server, [boxes[1]], server.org.orgId)
      await page.getByText('1 of 2 upgraded, 1 failed').waitFor()
      await table.getByRole('row').nth(1).getByText('Failed').waitFor()
      await press('Retry')
      await playUpgrades(server, [], server.org.orgId)
      await page.getByText('2 of 2 upgraded').waitFor()
      await page.getByText('Completed', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'Upgrades' }).first().click()
      await page
        .getByRole('listitem')
        .filter({ hasText: 'Edge appliances' })
        .getByText('serial · 2 appliances')
        .waitFor()
    })
  },
)

function macText(mac: string): string {
  return mac.match(/.{2}/g)?.join(':') ?? mac
}

/** A pointer hits whole pixels of the screen, which has fewer or more of them than the picture. */
function near(pixels: number): unknown {
  return expect.toSatisfy((value: number) => Math.abs(value - pixels) <= 3)
}
