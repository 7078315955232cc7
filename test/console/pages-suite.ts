import { createHash, randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import type { ServerProcess } from '../support/servers/server-process.ts'
import { waitUntil } from '../support/wait-until.ts'
import { expectAccessible } from './axe.ts'
import { type Demo, WITHIN_MS } from './demo.ts'

/** One of the seven EAP102 of Tokyo. */
const TOKYO_EAP102 = '02516e0000c9'

/** From the next page on, delays what pages ask of the live stream. @returns Passes it on, from then on immediately. */
async function holdStream(page: Page): Promise<() => void> {
  const released = Promise.withResolvers<void>()
  await page.routeWebSocket('**/api-ws/v1/stream', (socket) => {
    const server = socket.connectToServer()
    socket.onMessage((message) => void released.promise.then(() => server.send(message)))
  })
  return released.resolve
}

/** Tests the overview, and the pages of upgrades, edge appliances and firmware. */
export function testPages(demo: () => Demo): void {
  let server: ServerProcess
  let page: Page
  let org: string
  let siteId: string
  let upgradeId: string

  beforeAll(() => {
    ;({ server, page, org, siteId } = demo())
  })

  /** Upgrades one device by itself in an hour, so that until then it is in that upgrade. */
  async function upgradeDeviceLater(site: string, mac: string, version: string): Promise<void> {
    const answer = await fetch(`${server.url}/api/v1/sites/${site}/devices/00000000-0000-0000-1000-${mac}/upgrade`, {
      method: 'POST',
      headers: { authorization: `Token ${server.demo?.api_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ version, start_time: Math.floor(Date.now() / 1000) + 3600 }),
    })
    expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 })
  }

  it('shows the fleet on the overview, and leads to the devices of a site', { timeout: WITHIN_MS }, async () => {
    await page.goto(org)
    await page.getByText('39 connected').waitFor()
    await page.getByRole('link', { name: 'Berlin', exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Berlin', exact: true }).click()
    await page.getByRole('heading', { name: 'Berlin' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Devices' }).click()
    await page.getByText('21 devices').waitFor()
    expect(await page.getByLabel('Site', { exact: true }).inputValue()).toBe(siteId)
  })

  it('plans an upgrade, and plans it again where the fleet has changed', { timeout: WITHIN_MS }, async () => {
    await page.goto(`${org}/upgrades`)
    await page.getByRole('link', { name: 'New upgrade' }).click()
    await page.getByLabel('All sites').uncheck()
    await page.getByLabel('Tokyo').check()
    await page.getByLabel('All models').uncheck()
    await page.getByLabel('EAP102').check()
    await page.getByLabel('Version', { exact: true }).selectOption('3.2.0')
    await page.getByLabel('Rules').fill('match_color=red')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByText('Invalid field rules.0.match_color').waitFor()
    await page.locator(':focus').and(page.getByLabel('Rules')).waitFor()
    await page.getByLabel('Rules').fill('match_name[0:5]=tokyo, match_model=EAP102')
    await page.getByRole('button', { name: 'As curl' }).click()
    await page.getByText('"match_name[0:5]":"tokyo"').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Upgraded after each phase (%)').fill('50, 10')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    // The words of the server appear at the field.
    await page.getByText('Invalid field canary_phases: must rise').waitFor()
    await page.getByLabel('Upgraded after each phase (%)').fill('50, 100')
    await page.getByLabel('Begins', { exact: true }).selectOption('After an approval')
    await page.getByLabel('People who must agree').selectOption('2')
    const labels = await page.locator('.wizard-fields label').allTextContents()
    expect(labels.join()).toContain('Start,Ends')
    expect(labels.join()).toContain('Approved by,People who must agree')
    const wait = page.getByLabel('Wait between phases (minutes)')
    await wait.fill('soon')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByText(/^Invalid field phase_gates\.1\.minutes: /).waitFor()
    expect(await wait.getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByLabel('Begins', { exact: true }).getAttribute('aria-invalid')).not.toBe('true')
    await wait.fill('480')
    await page.getByRole('button', { name: 'As curl' }).click()
    await page.getByText('"approvals":2').waitFor()
    await page.getByText('"wait_for":"time","minutes":480').waitFor()
    await page.keyboard.press('Escape')
    await page
      .getByRole('img', { name: 'Starts with an approval. Upgraded after each phase: 50 % and then a wait, 100 %' })
      .waitFor()
    const time = page.getByLabel('Phase 2 begins not before')
    await time.fill('2020-01-01T03:00')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByText(/^Invalid field phase_gates\.1\.not_before: /).waitFor()
    expect(await time.getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByLabel('Begins', { exact: true }).getAttribute('aria-invalid')).not.toBe('true')
    await time.fill('')
    const end = page.getByLabel('Ends', { exact: true })
    await end.fill('2020-01-01T03:00')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByText(/^Invalid field end_time: /).waitFor()
    expect(await end.getAttribute('aria-invalid')).toBe('true')
    await end.fill('')
    // A date without its time has no value, as if nothing had been typed.
    await end.focus()
    await page.keyboard.type('01012099')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.locator(':focus').and(end).waitFor()
    await end.fill('')
    await page.getByLabel('People who must agree').selectOption('1')
    await wait.fill('')
    await page.getByLabel('Approval', { exact: true }).selectOption('After the first phase')
    await page.getByRole('img', { name: '50 % and then an approval, 100 %' }).waitFor()
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByText('Upgrades 7 devices in 2 phases').waitFor()
    await page.getByText('Goes on after phase 1 once a person has approved it.').waitFor()
    const drawnGates = 'li[data-start-gate=closed][data-gate=closed] + li:not([data-gate])'
    await page.locator(drawnGates).waitFor()
    await expectAccessible(page)

    // The draft is in the address.
    await page.reload()
    expect(await page.getByLabel('Upgraded after each phase (%)').inputValue()).toBe('50, 100')
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByRole('button', { name: 'Start the upgrade…' }).waitFor()
    await end.focus()
    await page.keyboard.type('01012099')
    await page.getByRole('button', { name: 'Start the upgrade…' }).click()
    await page.locator(':focus').and(end).waitFor()
    await end.fill('')
    await page.getByRole('button', { name: 'Start the upgrade…' }).click()
    await page
      .getByRole('dialog')
      .getByText('restarts 7 devices at 1 site, in 2 phases. Begins once a person has approved it.')
      .waitFor()
    await upgradeDeviceLater(server.demo?.site_ids[2] ?? '', TOKYO_EAP102, '3.2.0')
    await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
    await page.getByText('Nothing was started: 1 fact that the plan relied on changed').waitFor()
    await page.getByText('Upgrades 6 devices in 2 phases').waitFor()
    await page.getByRole('region', { name: 'Skipped' }).getByTitle('02:51:6e:00:00:c9').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Start the upgrade…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
    await page.getByRole('heading', { name: 'Upgrade to 3.2.0' }).waitFor()
    await page.getByText('Waits before its start: 0 of 6 upgraded').waitFor()
    const gates = page.getByRole('list', { name: 'Gates' })
    await gates.getByText('Before the start · waits for an approval').waitFor()
    await page.locator(drawnGates).waitFor()
    await page.getByRole('button', { name: 'Approve the start…' }).click()
    await page.getByRole('dialog').getByText('The first phase has 3 devices of 6.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve the start' }).click()
    await gates.getByText('an approval: done').waitFor()
    await page.locator('li[data-start-gate=passed][data-gate=closed]').waitFor()
    // It runs during the next tests, and the last one watches its end.
    upgradeId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  })

  it('watches an upgrade to its end, approved on the way', { timeout: 2 * WITHIN_MS }, async () => {
    await page.goto(`${org}/upgrades/${upgradeId}`)
    await page.getByRole('heading', { name: 'Upgrade to 3.2.0' }).waitFor()
    // The gate after the first phase waits for a person.
    await page.getByText('Waits in phase 1 of 2: 3 of 6 upgraded, stops at the first failure').waitFor()
    await page.getByText('canary, in 2 phases of 3 devices each').waitFor()
    const gates = page.getByRole('list', { name: 'Gates' })
    await gates.getByText('After phase 1 · waits for an approval').waitFor()
    await gates.getByText('at least 1 upgraded: 3').waitFor()
    await gates.getByText('an approval: not given yet').waitFor()
    await page.getByRole('region', { name: 'Floor plan' }).getByText('Tokyo has no floor plan').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Approve phase 1…' }).click()
    await page.getByRole('dialog').getByText('Opens the next phase: 3 devices').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve phase 1' }).click()
    await page.getByText('6 of 6 upgraded').waitFor()
    await page.getByText('Completed').first().waitFor()
    // The report and the upgrade are read by separate requests.
    await page.getByRole('button', { name: 'Cancel the upgrade…' }).waitFor({ state: 'detached' })
    await gates.getByText('1 gate passed').waitFor()
    await page.getByRole('button', { name: 'tokyo-ap-eap102-2' }).click()
    await page
      .getByRole('dialog', { name: 'tokyo-ap-eap102-2, 02:51:6e:00:00:ca' })
      .getByText('3.1.0 → 3.2.0')
      .waitFor()
    // The timeline has an address of its own.
    expect(new URL(page.url()).searchParams.get('device')).toBe('02516e0000ca')
    await page.reload()
    await page.getByRole('dialog').getByText('3.1.0 → 3.2.0').waitFor()
    await page.getByRole('dialog').getByText('upgraded', { exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    for (const leave of [() => page.goBack(), () => page.keyboard.press('Escape')]) {
      await page.getByRole('button', { name: 'tokyo-ap-eap102-2' }).click()
      await page.getByRole('dialog').getByText('upgraded', { exact: true }).waitFor()
      await leave()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(page.url()).toMatch(/\/upgrades\/[^?]+$/)
    }
    await page.getByRole('link', { name: 'Upgrades' }).first().click()
    const row = page.getByRole('listitem').filter({ hasText: '6 upgraded' })
    await row.getByText('Completed').waitFor()
    await row.getByText(/6 devices · from \d/).waitFor()
    await expectAccessible(page)
  })

  it('controls a service of an edge appliance, and lets another box replace it', { timeout: WITHIN_MS }, async () => {
    const release = await holdStream(page)
    await page.goto(`${org}/edges`)
    await page.getByText('2 appliances').waitFor()
    await page.getByText('Connected').nth(1).waitFor()
    await expectAccessible(page)
    await page.getByRole('main').getByRole('link').first().click()
    const services = page.getByRole('region', { name: 'Services' })
    await services.getByRole('button', { name: 'Stop tunterm…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('until it is started again').waitFor()
    await dialog.getByRole('button', { name: 'Stop tunterm' }).click()
    await page.getByRole('region', { name: 'Commands' }).getByText('Done').first().waitFor()
    // The change came before the page could hear of it, and the next report comes a minute later.
    release()
    await services.getByText('Stopped').waitFor({ timeout: 40_000 })
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Replace the box…' }).click()
    await dialog.getByText('Disconnects 1 box and').waitFor()
    await dialog.getByRole('button', { name: 'Replace the box' }).click()
    await page.getByText('No box has registered').waitFor()
    await page.getByText('Not registered').waitFor()
    const code = /SIGNALBOX_AGENT_CODE=(\w{15})/.exec(
      await page.getByRole('region', { name: 'Registration' }).innerText(),
    )?.[1]
    expect(code).toBeDefined()
    await page.getByRole('link', { name: 'Edge appliances' }).first().click()
    await page.getByLabel('Name', { exact: true }).fill('Edge West')
    await page.getByRole('button', { name: 'Create the appliance' }).click()
    await page.getByRole('heading', { name: 'Edge West' }).waitFor()
    await page.getByText('SIGNALBOX_AGENT_CODE=').waitFor()
  })

  it('goes to pages, sites and devices by the keyboard alone', { timeout: WITHIN_MS }, async () => {
    await page.goto(org)
    await page.getByRole('link', { name: 'Berlin', exact: true }).waitFor()
    const palette = page.locator('[role=combobox]:focus')
    await page.getByRole('link', { name: 'Berlin', exact: true }).focus()
    await page.keyboard.press('Control+k')
    await palette.waitFor()
    await page.keyboard.press('Escape')
    await page.locator('a:focus').filter({ hasText: 'Berlin' }).waitFor()
    await page.keyboard.press('Control+k')
    await palette.waitFor()
    await page.keyboard.type('webh')
    await page.getByRole('option', { name: 'Webhooks' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await page.waitForURL(`**${org}/webhooks`)
    await page.keyboard.press('Control+k')
    await palette.waitFor()
    await page.keyboard.type('tokyo')
    await page
      .getByRole('option', { name: /tokyo-ap/ })
      .first()
      .waitFor()
    await page.getByRole('option', { name: 'Tokyo site' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/devices/02516e*')
  })

  it('shows on each page the call that reads its contents', { timeout: 2 * WITHIN_MS }, async () => {
    await page.goto(`${org}/sites/${siteId}/devices/02516e000001`)
    const headers = { authorization: `Token ${server.demo?.api_token}` }
    const called = new Set<string>()
    const links = page.getByRole('navigation').getByRole('link')
    await links.first().waitFor()
    for (const link of [null, ...(await links.all())]) {
      await link?.click()
      if (link !== null) await page.locator('nav [aria-current=page]', { hasText: await link.innerText() }).waitFor()
      const url = await waitUntil('the call of the page', async () => {
        await page.getByRole('button', { name: 'As curl' }).click()
        // The former page may still have been there, whose dialog disappears with it.
        const command = await page
          .getByRole('dialog')
          .locator('pre')
          .innerText({ timeout: 2000 })
          .catch(() => '')
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        const found = /'(http[^']+)'/.exec(command)?.[1] ?? null
        return found !== null && called.has(found) ? null : found
      })
      expect({ url, status: (await fetch(url, { headers })).status }).toMatchObject({ status: 200 })
      called.add(url)
    }
    expect(called.size).toBe(10)
    await expectAccessible(page)
  })

  it('uploads an image, shows its hash, and deletes it', { timeout: WITHIN_MS }, async () => {
    await page.goto(`${org}/firmware`)
    await page.getByText('EAP102 3.2.0').first().waitFor()
    await expectAccessible(page)
    const bytes = randomBytes(1_500_000)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await page.getByLabel('File').setInputFiles({ name: 'image', mimeType: 'application/octet-stream', buffer: bytes })
    await page.getByLabel('Version', { exact: true }).fill('9.0.0')
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText('Invalid field models').waitFor()
    await page.getByLabel('Models').fill('EAP102')
    await page.getByLabel('Tag').selectOption('latest')
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText('Stored 1.4 MiB').waitFor()
    await page.getByLabel('File').setInputFiles({ name: 'image', mimeType: 'application/octet-stream', buffer: bytes })
    await page.getByLabel('Version', { exact: true }).fill('9.0.0')
    await page.getByLabel('Models').fill('EAP102')
    await page.getByLabel('Tag').selectOption('latest')
    await page.getByRole('button', { name: 'Upload' }).click()
    await page.getByText('There already: 1.4 MiB').waitFor()
    const line = page.getByRole('listitem').filter({ hasText: 'EAP102 9.0.0 (latest)' })
    await line.getByText(sha256).waitFor()
    await line.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog').getByText('No device can be upgraded to EAP102 9.0.0 (latest) until').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await line.waitFor({ state: 'detached' })
  })

  it(
    'lists devices as they are if they changed before the stream confirmed their sites',
    { timeout: WITHIN_MS },
    async () => {
      const release = await holdStream(page)
      await page.goto(`${org}/devices?type=switch`)
      await page.getByText('18 devices').waitFor()
      const path = `/api/v1/sites/${siteId}/devices/00000000-0000-0000-1000-02516e000013`
      const { status } = await fetch(server.url + path, {
        method: 'PUT',
        headers: { authorization: `Token ${server.demo?.api_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'a-new-name' }),
      })
      expect(status).toBe(200)
      expect(await page.getByText('a-new-name').count()).toBe(0)
      release()
      await page.getByText('a-new-name').waitFor()
    },
  )
}
