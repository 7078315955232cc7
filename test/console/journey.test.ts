import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { afterFile } from '../support/after-file.ts'
import { parseConfig } from '../../src/app/config/config.ts'
import { type Running, startServer } from '../../src/app/start.ts'
import type { Client } from '../../src/cli/client.ts'
import type { FaultPlan } from '../../src/simulator/faults.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import { picture } from '../maps/pictures.ts'
import { buildConsole, launchChromium, noChromium, openView } from '../support/peers/chromium.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { type Service, addToManifest, claimCodeOf, startDevices, startService } from '../support/servers/service.ts'
import { WITHIN_MS } from './demo.ts'

const EMAIL = 'ada@example.com'
const PASSWORD = 'a much longer password'
const MODEL = 'EAP101'

const devices: readonly PlannedDevice[] = ['02000000e101', '02000000e102'].map((mac, place) => {
  return { mac, serial: `S${place}`, model: MODEL, type: 'ap', firmware: '1.0.0' }
})
const codes = devices.map((_, place) => claimCodeOf(place))

describe.skipIf(noChromium !== null)(
  `the console from the first account to an upgraded network${noChromium === null ? '' : `: ${noChromium}`}`,
  () => {
    let service: Service
    /** Is replaced when the service is started again. */
    let server: Running
    let fleet: Fleet | null = null
    let browser: Browser
    let page: Page
    let org: string
    let client: Client

    beforeAll(async () => {
      await buildConsole()
      service = await startService({}, afterFile)
      server = service.server
      await addToManifest(service, devices)
      browser = await launchChromium()
      afterFile(async () => {
        await browser.close()
        await fleet?.stop()
        await server.stop()
      })
      const view = await openView(browser, server.url)
      view.setDefaultTimeout(WITHIN_MS)
      page = await view.newPage()
    }, 240_000)

    /** Starts the devices in their last state. */
    async function start(faults: FaultPlan = {}): Promise<void> {
      await fleet?.stop()
      fleet = await startDevices(service, devices, { faults, stateDir: join(service.dataDir, 'fleet') })
    }

    it(
      'signs a person up, by the mail, to a verified account and an organization',
      { timeout: WITHIN_MS },
      async () => {
        await page.goto('/register')
        await page.getByLabel('Email').fill(EMAIL)
        await page.getByLabel('First name').fill('Ada')
        await page.getByLabel('Last name').fill('Lovelace')
        await page.getByLabel('Organization').fill('Engines')
        await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
        await page.getByRole('button', { name: 'Create the account' }).click()
        await page.getByText(`A mail to ${EMAIL}`).waitFor()
        await page.goto(`/verify/register?token=${tokenIn(await waitForMail(service.dataDir, EMAIL))}`)
        await page.getByLabel('Password').fill(PASSWORD)
        await page.getByRole('button', { name: 'Finish the registration' }).click()
        await page.getByLabel('Name of a new site').waitFor()
        org = new URL(page.url()).pathname
        expect(org).toMatch(/^\/orgs\/[0-9a-f-]{36}$/)
      },
    )

    it('claims devices, and sees them connect', { timeout: WITHIN_MS }, async () => {
      await page.getByLabel('Name of a new site').fill('Oslo')
      await page.getByLabel('Time zone').fill('Europe/Oslo')
      await page.getByRole('button', { name: 'Create the site' }).click()
      await page.waitForURL(`**${org}/claim`)
      await page.getByLabel('Claim codes').fill('NEVER-MADE1 ***')
      await page.getByRole('button', { name: 'Claim 2 devices' }).click()
      await page.getByRole('alert').getByText('NEVER-MADE1: not found').waitFor()
      await page.getByRole('alert').getByText('import-manifest').waitFor()
      await page.getByRole('alert').getByText('***: invalid claim code').waitFor()
      await page.getByLabel('Claim codes').fill(codes.join('\n'))
      await page.getByRole('button', { name: 'Claim 2 devices' }).click()
      await page.getByText('Claimed 2 devices.').waitFor()
      await page.getByText('Waiting for it to connect').nth(1).waitFor()
      await start()
      await page.getByText('Connected', { exact: true }).nth(1).waitFor()
    })

    it('places a claimed device on the floor plan', { timeout: WITHIN_MS }, async () => {
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('link', { name: 'Oslo', exact: true }).click()
      await page.getByLabel('Name of a new floor plan').fill('Ground floor')
      await page.getByRole('button', { name: 'Add the floor plan' }).click()
      const file = { name: 'plan.png', mimeType: 'image/png', buffer: await picture(640, 480) }
      await page.getByLabel('Picture of the floor').setInputFiles(file)
      await page.getByRole('button', { name: 'Upload the picture' }).click()
      await page.locator('.plan img').waitFor()
      await page.getByRole('button', { name: 'Place 02:00:00:00:e1:01' }).click()
      await page.getByRole('button', { name: 'Mark a point' }).click({ position: { x: 100, y: 80 } })
      await page.getByRole('button', { name: '02:00:00:00:e1:01, Connected, at' }).waitFor()
    })

    it(
      'watches an upgrade in which a device fails, and retries it to the end',
      { timeout: 2 * WITHIN_MS },
      async () => {
        const token = await createToken()
        client = service.connect(`Token ${token}`)
        await nameDevice('02000000e102', 'Lobby')
        const image = Buffer.from(imageHeader([MODEL], '2.0.0').padEnd(100_000, '.'))
        await client.upload(`/api/v1${org}/firmware?version=2.0.0&models=${MODEL}`, image)
        await start({ old_version: { macs: ['02000000e102'] } })
        await page.getByRole('navigation').getByRole('link', { name: 'Upgrades' }).click()
        await page.getByRole('link', { name: 'New upgrade' }).first().click()
        await page.getByLabel('Version', { exact: true }).selectOption('2.0.0')
        await page.getByLabel('Strategy', { exact: true }).selectOption('big_bang')
        await page.getByRole('button', { name: 'Preview the plan' }).click()
        await page.getByRole('button', { name: 'Start the upgrade…' }).click()
        await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
        await page.getByRole('heading', { name: 'Upgrade to 2.0.0' }).waitFor()
        // The timeline has it as well.
        await page.getByText('1 of 2 upgraded, 1 failed').first().waitFor()
        const saved = page.waitForEvent('download')
        await page.getByRole('link', { name: 'Report as CSV' }).click()
        const report = await readFile(await (await saved).path(), 'utf8')
        expect(report).toMatch(/^mac,name,site_id,/)
        expect(report).toMatch(/^02000000e102,Lobby,.*,failed,/m)
        await page.getByRole('region', { name: 'Device rows' }).getByRole('button', { name: 'Lobby' }).first().waitFor()
        await start()
        await page.getByRole('button', { name: 'Retry…' }).click()
        await page.getByRole('dialog').getByText('restarts the 1 failed device again').waitFor()
        await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
        await page.getByText('2 of 2 upgraded').first().waitFor()
        await page.getByText('Completed').first().waitFor()
      },
    )

    it(
      'reports an unavailable server, keeps the input, and resumes without a reload',
      { timeout: 2 * WITHIN_MS },
      async () => {
        await page.goto(`${org}/devices`)
        await page.getByText('2 devices').waitFor()
        await rows('Connected').nth(1).waitFor()
        const { port } = new URL(server.url)
        const ucentral = String(server.ucentralPort)
        await server.stop()
        await page.getByRole('searchbox').fill('02000000e1')
        await page.getByText('The server does not answer. What you see').waitFor()
        server = await startServer(
          parseConfig({ ...service.settings, SIGNALBOX_PORT: port, SIGNALBOX_UCENTRAL_PORT: ucentral }),
        )
        await page.getByText('The server does not answer. What you see').waitFor({ state: 'detached' })
        expect(await page.getByRole('searchbox').inputValue()).toBe('02000000e1')
        // The stream resumes too, so further changes appear without a reload.
        await fleet?.untilAll(({ connected }) => connected, WITHIN_MS)
        await fleet?.stop()
        fleet = null
        await rows('Disconnected').nth(1).waitFor()
      },
    )

    const rows = (state: string) => page.getByRole('cell').getByText(state, { exact: true })

    async function nameDevice(mac: string, name: string): Promise<void> {
      const sites = await client.call('GET', `/api/v1${org}/sites`)
      const [{ id }] = sites as [{ id: string }]
      await client.call('PUT', `/api/v1/sites/${id}/devices/00000000-0000-0000-1000-${mac}`, { name })
    }

    async function createToken(): Promise<string> {
      const view = await page.context().newPage()
      await view.goto('/account')
      await view.getByLabel('Name of a new token').fill('firmware')
      await view.getByRole('button', { name: 'Create the token' }).click()
      const key = await view.getByRole('region', { name: 'API tokens' }).locator('pre').innerText()
      await view.close()
      return key
    }
  },
)
