import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { expectAccessible } from './axe.ts'
import { type Demo, WITHIN_MS } from './demo.ts'

/** Devices of Berlin: the cluster of two SRX345, and a Virtual Chassis of three EX4100. */
const [CLUSTER, CHASSIS] = ['02516e00000e', '02516e000013']

/** Tests the pages of devices. @param demo Its page shows the overview. */
export function testDevices(demo: () => Demo): void {
  let page: Page
  let org: string
  let siteId: string

  beforeAll(() => {
    ;({ page, org, siteId } = demo())
  })

  it('draws the sites where they are', { timeout: WITHIN_MS }, async () => {
    const mark = page.getByRole('link', { name: 'Tokyo: none of 20 devices away' })
    await mark.waitFor()
    const [tokyo, newYork] = await Promise.all([
      mark.boundingBox(),
      page.getByRole('link', { name: 'New York: none of 20 devices away' }).boundingBox(),
    ])
    expect(newYork?.x).toBeLessThan(tokyo?.x ?? 0)
    await expectAccessible(page)
    await mark.click()
    await page.getByRole('heading', { name: 'Tokyo' }).waitFor()
  })

  it('searches devices by the address, and opens one', { timeout: WITHIN_MS }, async () => {
    await page.goto(`${org}/devices?type=switch`)
    await page.getByText('18 devices').waitFor()
    await page.getByRole('searchbox').fill('tokyo-switch-ex')
    await page.getByText('2 devices').waitFor()
    expect(new URL(page.url()).searchParams.get('text')).toBe('tokyo-switch-ex')
    await expectAccessible(page)
    await page.getByRole('link', { name: 'tokyo-switch-ex4100-48p-1' }).click()
    await page.getByRole('heading', { name: 'tokyo-switch-ex4100-48p-1' }).waitFor()
    await page.getByRole('heading', { name: 'Members' }).waitFor()
  })

  it(
    'shows the columns that the address asks for, and saves the devices as a table',
    { timeout: WITHIN_MS },
    async () => {
      await page.goto(`${org}/devices?type=switch&text=tokyo`)
      await page.getByText('6 devices').waitFor()
      await page.getByRole('button', { name: 'Columns' }).click()
      await page.getByRole('checkbox', { name: 'Serial' }).check()
      await page.getByRole('checkbox', { name: 'Version' }).uncheck()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Done' }).click()
      expect(new URL(page.url()).searchParams.get('columns')).toBe('state,model,site,mac,serial')
      await page.reload()
      await page.getByRole('columnheader', { name: 'Serial' }).waitFor()
      expect(await page.getByRole('columnheader', { name: 'Version' }).count()).toBe(0)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV' }).click(),
      ])
      expect(download.suggestedFilename()).toBe('devices.csv')
      const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
      expect(lines[0]).toBe('name,status,type,model,version,site,mac,serial')
      expect(lines).toHaveLength(7)
      expect(lines[1]).toMatch(/^tokyo-switch-.*,connected,switch,.*,Tokyo,02:51:6e:/)
    },
  )

  it(
    'restarts a device after stating the effect, and follows the command to its end',
    { timeout: WITHIN_MS },
    async () => {
      await page.goto(`${org}/sites/${siteId}/devices/02516e000003`)
      await page.getByRole('button', { name: 'Restart…' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Disconnects 6 clients').waitFor()
      await expectAccessible(page)
      await dialog.getByRole('button', { name: 'Restart', exact: true }).click()
      const command = page.getByRole('region', { name: 'Commands' }).getByRole('listitem').first()
      await command.getByText('restart').waitFor()
      await command.getByText('Done').waitFor()
      // The stream reports that the device has gone and come back.
      await page.getByRole('region', { name: 'Events' }).getByText('AP disconnected').waitFor()
      await expectAccessible(page)
    },
  )

  it('shows the stored configuration of a device', { timeout: WITHIN_MS }, async () => {
    await page.goto(`${org}/sites/${siteId}/devices/02516e000004`)
    await page.getByLabel('Configuration as JSON').getByText('"name": "berlin-ap-').waitFor()
    await expectAccessible(page)
  })

  it('locates a device, and shows the output of its pings', { timeout: WITHIN_MS }, async () => {
    const dialog = page.getByRole('dialog')
    const commands = page.getByRole('region', { name: 'Commands' })
    await page.getByRole('button', { name: 'Locate…' }).click()
    await dialog.getByText('blink').waitFor()
    await dialog.getByRole('button', { name: 'Locate' }).click()
    await commands.getByText('locate').waitFor()
    await page.getByRole('button', { name: 'Ping…' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Ping…' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await dialog.getByLabel('Address or name of a host').fill('not a host')
    await dialog.getByRole('button', { name: 'Ping' }).click()
    await dialog.getByText('Invalid field host').waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Address or name of a host').fill('192.0.2.7')
    await page.keyboard.press('Enter')
    await commands.getByRole('listitem').filter({ hasText: 'ping' }).getByText('Done').waitFor()
    await commands.getByText('Output').click()
    await commands.getByLabel('Output of the command').getByText('192.0.2.7').first().waitFor()
  })

  it('collects the support files of a device, saves them and deletes them', { timeout: 2 * WITHIN_MS }, async () => {
    const dialog = page.getByRole('dialog')
    const files = page.getByRole('region', { name: 'Support files' })
    const command = page.getByRole('region', { name: 'Commands' }).getByRole('listitem').first()
    const stored = /\/devices\/[^/]+\/support\?/
    await page.route(stored, (route) => route.fulfill({ json: [] }))
    await page.getByRole('button', { name: 'Collect support files…' }).click()
    await dialog.getByRole('button', { name: 'Collect support files' }).click()
    await command.getByText('support').waitFor()
    await command.getByText('Done').waitFor()
    // An access point answers before its upload has begun, so the file comes after the end of the command.
    await page.unroute(stored)
    const saved = page.waitForEvent('download')
    await files.getByRole('link').click()
    expect((await readFile(await (await saved).path())).length).toBeGreaterThan(0)
    await expectAccessible(page)
    await files.getByRole('button', { name: 'Delete…' }).click()
    await dialog.getByText('Deletes 1 support file').waitFor()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await files.waitFor({ state: 'detached' })
  })

  it('restarts one node of a cluster to the end', { timeout: WITHIN_MS }, async () => {
    const restart = page.getByRole('button', { name: 'Restart…' })
    const dialog = page.getByRole('dialog')
    await page.goto(`${org}/sites/${siteId}/devices/${CLUSTER}`)
    await restart.click()
    await dialog.getByLabel('What to restart').selectOption('Only node1 of the cluster')
    await dialog
      .getByText('Restarts 1 node (node1 of berlin-gateway-srx345-1). The other node keeps running.')
      .waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Restart', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const command = page.getByRole('region', { name: 'Commands' }).getByRole('listitem').first()
    await command.getByText('restart node1').waitFor()
    await command.getByText('Done').waitFor()
  })

  it('restores the former firmware of a switch', { timeout: 2 * WITHIN_MS }, async () => {
    await page.goto(`${org}/sites/${siteId}/devices/${CHASSIS}`)
    await page.getByRole('button', { name: 'Restore the firmware…' }).click()
    await page.getByRole('dialog').getByText('Restarts 3 members (berlin-switch-ex4100-48p-1)').waitFor()
    await page.getByRole('dialog').getByText('It starts with 3.0.0 instead of 3.1.0').waitFor()
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Restore the firmware' }).click()
    const command = page.getByRole('region', { name: 'Commands' }).getByRole('listitem').first()
    await command.getByText('restore backup').waitFor()
    await command.getByText('Done').waitFor()
    // The stream reports the version that it runs now.
    await page.getByText('EX4100-48P · 3.0.0').waitFor()
    // What has no LEDs and sends no pings is not asked to.
    expect(await page.getByRole('button', { name: /Locate|Ping/ }).count()).toBe(0)
  })
}
