import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import type { AnyJson } from '../support/contract/any-json.ts'
import { noChromium } from '../support/peers/chromium.ts'
import { type MadeDevice, connectDevice, makeDevices } from '../support/fleets/devices.ts'
import { waitUntil } from '../support/wait-until.ts'
import { picture } from '../maps/pictures.ts'
import { testApplianceUpgrades } from './appliance-upgrades-suite.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { testDrafts } from './draft-suite.ts'
import { testLeaving } from './leave-suite.ts'
import { testSiteSettings } from './site-settings-suite.ts'
import { testSiteWizard } from './site-wizard-suite.ts'
import { macText, testUpgrades } from './upgrades-suite.ts'
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
      await expectAccessible(page)
      await plan.getByRole('link', { name: 'Firmware' }).click()
      await page.getByRole('heading', { name: 'Firmware', level: 1 }).waitFor()
      await page.goBack()
      await page.getByRole('button', { name: 'Preview the plan' }).click()
      await plan.getByRole('link', { name: 'Claimed devices' }).click()
      await page.getByRole('heading', { name: 'Claim devices', level: 1 }).waitFor()
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
      const body = { auto_upgrade: { enabled: true, time_of_day: '04:20' } }
      await server.call('PUT', `/sites/${siteId}/setting`, { body })
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('link', { name: 'Oslo', exact: true }).click()
      await page.getByRole('heading', { name: 'Oslo' }).waitFor()
      await page.getByText(/Next automatic upgrade: .*04:20/).waitFor()
      await server.call('PUT', `/sites/${siteId}/setting`, { body: { '-auto_upgrade': '' } })
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
      // What was typed for one site is not sent for another.
      const plan = page.getByLabel('Name of a new floor plan')
      await plan.fill('Quay')
      await page.keyboard.press('Control+k')
      await page.locator('[role=combobox]:focus').fill('oslo')
      await page.getByRole('option', { name: 'Oslo site' }).click()
      await page.getByRole('heading', { name: 'Oslo', exact: true }).waitFor()
      expect(await plan.inputValue()).toBe('')
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
      await page.getByLabel('Length in meters').fill('16')
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
      await page.reload()
      const building = page.getByLabel('Building')
      await building.waitFor()
      // Somebody else makes the building that the person has in mind.
      const stack = await server.call('POST', `/sites/${siteId}/mapstacks`, { body: { name: 'Tower' } })
      const first = { name: 'First floor', mapstack_id: stack.body.id, mapstack_floor: 1 }
      const added = await server.call('POST', `/sites/${siteId}/maps`, { body: first })
      await building.fill('Tower')
      const mapId = /maps\/([\w-]+)/.exec(page.url())?.[1]
      await server.call('PUT', `/sites/${siteId}/maps/${mapId}`, { body: { orientation: 90 } })
      await page.getByRole('button', { name: 'Change the plan' }).click()
      await page.getByRole('navigation', { name: 'Floors' }).getByRole('link', { name: 'First floor' }).waitFor()
      // What somebody else has changed meanwhile stays, and appears.
      expect((await server.call('GET', `/sites/${siteId}/maps/${mapId}`)).body.orientation).toBe(90)
      expect(await page.getByLabel('Orientation', { exact: true }).inputValue()).toBe('90')
      await page.getByRole('navigation', { name: 'Floors' }).getByRole('link', { name: 'First floor' }).click()
      await page.getByRole('heading', { name: 'First floor' }).waitFor()
      await building.fill('')
      await page.getByRole('button', { name: 'Change the plan' }).click()
      await page.getByRole('navigation', { name: 'Floors' }).waitFor({ state: 'detached' })
      const { body: apart } = await server.call('GET', `/sites/${siteId}/maps/${added.body.id}`)
      expect(apart).toEqual(expect.not.objectContaining({ mapstack_id: expect.anything() }))
      expect(apart).toMatchObject({ name: 'First floor', mapstack_floor: 1 })
      await page.getByRole('button', { name: 'Delete the plan…' }).click()
      await page
        .getByRole('dialog')
        .getByText('Deletes 1 floor plan (First floor). 0 devices lose their places.')
        .waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the plan' }).click()
      await page.getByRole('heading', { name: 'Oslo' }).waitFor()
      await page.getByRole('region', { name: 'Floor plans' }).getByRole('link', { name: 'Ground floor' }).waitFor()
    })

    testSiteSettings(() => server)
    testLeaving(() => server)
    testSiteWizard(() => server)
    testDrafts(() => server)
    testUpgrades(() => ({ server, page }))
    testApplianceUpgrades(() => ({ server, page }))
  },
)

/** A pointer hits whole pixels of the screen, which has fewer or more of them than the picture. */
function near(pixels: number): unknown {
  return expect.toSatisfy((value: number) => Math.abs(value - pixels) <= 3)
}
