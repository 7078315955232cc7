import { expect, it } from 'vitest'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import type { ConsoleWorld } from './world.ts'

interface Opened {
  readonly server: ConsoleWorld
  /** The request of an upgrade of three devices at one site. */
  readonly upgrade: object
  /** The id of one that has been created by it. */
  readonly upgradeId: string
}

/** Tests the page of an upgrade: what people do there, and what it says of them. */
export function testUpgradePage(opened: () => Opened): void {
  it('shows the phases of an upgrade before its devices have arrived', { timeout: WITHIN_MS }, async () => {
    const { server, upgradeId } = opened()
    const org = server.path
    const { page, context } = await server.enter(server.org, org)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const now = Date.now() / 1000
    const names = Array.from({ length: 12 }, (_, place) => `Further site ${place + 1}`)
    await page.route(`**/upgrade/${upgradeId}/report`, async (route) => {
      await released
      const json = await (await route.fetch()).json()
      Object.assign(json.devices[0], { status: 'failed', reason: 'Too late', ended_at: now })
      json.offline = 1
      Object.assign(json.devices[1], { reason: 'offline' })
      const [site] = json.sites
      json.sites.push(...names.map((name) => Object.assign({}, site, { site_id: name, site_name: name })))
      await route.fulfill({ json })
    })
    await page.route(`**/devices/upgrade/${upgradeId}`, async (route) => {
      const json = await (await route.fetch()).json()
      json.upgrades[0].upgrade.waits_until = now + 3600
      await route.fulfill({ json })
    })
    await page.goto(`${org}/upgrades/${upgradeId}`)
    await page.getByRole('heading', { name: 'Phases' }).waitFor()
    await page.getByText('0 of 3 upgraded').waitFor()
    await page.getByRole('button', { name: 'Pause…' }).waitFor()
    const rows = page.getByRole('region', { name: 'Device rows' }).getByRole('listitem')
    expect(await rows.count()).toBe(0)
    await expectAccessible(page)
    await page.getByText(/^1 site waits for its maintenance window, which opens \d\d:\d\d .+ at Oslo$/).waitFor()
    release()
    await rows.nth(2).waitFor()
    await page.getByText('1 device failed in the last 10 minutes, and 0 in the 10 minutes before').waitFor()
    await page.getByText('This upgrade waits for 1 device that is offline.').waitFor()
    await rows.filter({ hasText: 'Waiting' }).getByText('offline').waitFor()
    // It is read again without its devices, by which the device is connected.
    await page.getByText('This upgrade waits for 1 device that is offline.').waitFor({ state: 'hidden' })
    const siteTable = page.getByRole('region', { name: 'Sites' })
    expect(await siteTable.getByText('Further site 12').count()).toBe(0)
    await siteTable.getByRole('button', { name: 'Show all 13' }).click()
    await siteTable.getByText('Further site 12').waitFor()
    await expectAccessible(page)
    await context.close()
  })

  it('pauses, resumes and cancels an upgrade, and shows who did what', { timeout: WITHIN_MS }, async () => {
    const { server, upgradeId } = opened()
    const org = server.path
    const { page, context } = await server.enter(server.org, `${org}/upgrades/${upgradeId}`)
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Pause…' }).click()
    await dialog.getByText('the 3 devices still to be upgraded').waitFor()
    await dialog.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Resume…' }).click()
    await dialog.getByText('continues with the 3 devices').waitFor()
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause…' }).waitFor()
    await page.getByRole('button', { name: 'Cancel the upgrade…' }).click()
    await dialog.getByText('Cancels the upgrade of 3 devices at 1 site').waitFor()
    await dialog.getByRole('button', { name: 'Cancel the upgrade' }).click()
    await page.getByText('Cancelled').first().waitFor()
    // What it has left can be planned anew.
    await advanceRollouts(server.ctx, defaultRolloutOptions, new AbortController().signal)
    await page.getByText('3 devices were not begun').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Plan an upgrade of the rest' }).click()
    await page.getByRole('button', { name: 'Preview the plan' }).click()
    await page.getByText('Upgrades 3 devices in 3 phases').waitFor()

    const renamed = await server.call('PUT', org, { body: { name: 'Northern lights' } })
    expect(renamed.status).toBe(200)
    await page.getByRole('link', { name: 'Audit log' }).click()
    const cancelled = page.getByRole('listitem').filter({ hasText: `Cancel upgrade ${upgradeId}` })
    expect(await cancelled.getByRole('link').getAttribute('href')).toBe(`${org}/upgrades/${upgradeId}`)
    await page.getByText('Before and after').first().click()
    await page.getByRole('cell', { name: 'Northern lights' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Change').fill(`Cancel upgrade ${upgradeId}`)
    await page.keyboard.press('Enter')
    await page.getByText('1 entry', { exact: true }).waitFor()
    await page.getByLabel('Change').fill('no such change')
    await page.keyboard.press('Enter')
    await page.getByText('No change matches').waitFor()
    expect(new URL(page.url()).searchParams.get('message')).toBe('no such change')
    await context.close()
  })

  it('says to a person who has approved an upgrade who is still needed', { timeout: WITHIN_MS }, async () => {
    const { server, upgrade } = opened()
    const org = server.path
    const gate = { phase: 0, wait_for: 'approval', approvals: 2 }
    const { body } = await server.call('POST', `${org}/devices/upgrade`, {
      body: { ...upgrade, supersede: true, phase_gates: [gate] },
    })
    const { page, context } = await server.enter(server.org, `${org}/upgrades/${body.id}`)
    await page.getByRole('button', { name: 'Approve the start…' }).press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Waits for 1 further approval by another person.').waitFor()
    const note = dialog.getByLabel('Note for the record')
    await note.fill('of another phase')
    await dialog.getByRole('button', { name: 'Keep as it is' }).press('Enter')
    await page.getByRole('button', { name: 'Approve the start…' }).press('Enter')
    expect(await note.inputValue()).toBe('')
    await dialog.getByRole('button', { name: 'Approve the start' }).press('Enter')
    await page.getByText('You have approved it. 1 other person has yet to approve it.').waitFor()
    await page.getByRole('list', { name: 'Gates' }).getByText('1 given, by').waitFor()
    await page.getByRole('button', { name: 'Cancel the upgrade…' }).waitFor()
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
    // Another upgrade leaves out its devices, and leads to it.
    const { body: other } = await server.call('POST', `${org}/devices/upgrade`, { body: upgrade })
    await page.goto(`${org}/upgrades/${other.id}`)
    const leads = page.getByRole('region', { name: 'Device rows' }).getByRole('link', { name: shortNameOf(body.id) })
    expect(await leads.first().getAttribute('href')).toBe(`${org}/upgrades/${body.id}`)
    await page
      .getByRole('navigation', { name: 'Devices by state' })
      .getByText(`in ${shortNameOf(body.id)}`)
      .waitFor()
    expect(await server.call('POST', `${org}/devices/upgrade/${body.id}/cancel`)).toMatchObject({ status: 200 })
    await context.close()
  })
}

function shortNameOf(upgradeId: string): string {
  return `upgrade …${upgradeId.slice(-6)}`
}
