import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { uploadPackage } from '../edge/upgrades/packages.ts'
import { addBox, playUpgrades, targetsOf, upgrade as upgradeBoxes } from '../edge/upgrades/upgrade-world.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { press } from './press.ts'
import type { SignedIn } from './world.ts'

/** Tests the pages of upgrades of edge appliances, from their plan on. */
export function testApplianceUpgrades(opened: () => SignedIn): void {
  it(
    'plans an upgrade of edge appliances, and follows it to its end, paused and retried',
    { timeout: 2 * WITHIN_MS },
    async () => {
      const { server, page } = opened()
      const org = server.path
      await uploadPackage(server, '2.0.0')
      const boxes = [await addBox(server), await addBox(server)]
      const versions = { tunterm: '2.0.0' }
      const first = await upgradeBoxes(server, { mxedge_ids: boxes, versions })
      const waits = await upgradeBoxes(server, { versions, include_new: true })
      await page.goto(`${org}/upgrades/${waits.id}`)
      const awaited = page.getByText('This upgrade awaits 2 appliances that are in other upgrades.')
      await awaited.waitFor()
      await page.getByRole('button', { name: 'Stop waiting…' }).click()
      await page.getByRole('dialog').getByText('no longer takes in the 2 appliances').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Stop waiting' }).click()
      await awaited.waitFor({ state: 'detached' })
      await server.call('POST', `${org}/mxedges/upgrade/${first.id}/cancel`)
      await playUpgrades(server, [], server.org.orgId)
      await page.goto(`${org}/upgrades/new`)
      await page.getByLabel('Start').fill('2026-01-01T00:00')
      await page.getByLabel('Upgrade of').selectOption('Edge appliances')
      // It was on the clocks of the sites.
      expect(await page.getByLabel('Start').inputValue()).toBe('')
      await page.getByLabel('tunterm').selectOption('2.0.0')
      await page.getByLabel('Ends', { exact: true }).fill('2099-01-01T03:00')
      await page.getByLabel('Strategy', { exact: true }).selectOption('Canary')
      await page.getByLabel('Approval').selectOption('After the first phase')
      await page.getByLabel('Upgraded after each phase (%)').fill('50, 10')
      await page.getByRole('button', { name: 'Preview the plan' }).click()
      await page.getByText('Invalid field canary_phases: must rise').waitFor()
      await page.getByLabel('Strategy', { exact: true }).selectOption('Serial')
      await page.getByLabel('Begins').selectOption('After an approval')
      await page.getByLabel('Name', { exact: true }).fill('Tunnels')
      await page.getByLabel('Stops after failures (%)').fill('100')
      await page.getByRole('button', { name: 'Preview the plan' }).click()
      await page.getByText('Upgrades 2 appliances in 2 phases').waitFor()
      await page.getByRole('row').getByText('tunterm 1.0.0 → 2.0.0').nth(1).waitFor()
      await page.getByText('Begins once a person has approved it.').waitFor()
      await expectAccessible(page)
      // Another upgrade gets one of them in between.
      await page.getByRole('button', { name: 'Start the upgrade…' }).click()
      await page.getByRole('dialog').getByText('Upgrades 2 appliances, in 2 phases.').waitFor()
      const other = await upgradeBoxes(server, { mxedge_ids: boxes.slice(1), versions })
      await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
      await page.getByText('Nothing was started: 1 fact that the plan relied on changed').waitFor()
      await page.getByText('Upgrades 1 appliance in 1 phase').waitFor()
      // What the text names leads there.
      const skipped = page.getByRole('region', { name: 'Skipped' })
      const leads = skipped.getByRole('link', { name: `upgrade …${other.id.slice(-6)}` })
      expect(await leads.getAttribute('href')).toBe(`${org}/upgrades/${other.id}`)
      await server.call('POST', `${org}/mxedges/upgrade/${other.id}/cancel`)
      await playUpgrades(server, [], server.org.orgId)
      await page.getByRole('button', { name: 'Preview again' }).click()
      await page.getByText('Upgrades 2 appliances in 2 phases').waitFor()
      await page.getByRole('button', { name: 'Start the upgrade…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Start the upgrade' }).click()
      await page.getByRole('heading', { name: 'Tunnels, to tunterm 2.0.0' }).waitFor()
      await page.locator('.note').getByText('its start waits for an approval', { exact: true }).waitFor()
      await page.getByText('Waits before its start: 0 of 2 upgraded').waitFor()
      await press(page, 'Approve the start')
      await page.getByText('Not begun: 0 of 2 upgraded').waitFor()
      const table = page.getByRole('region', { name: 'Appliances' })
      await table.getByText('tunterm 1.0.0 → 2.0.0').nth(1).waitFor()
      await page.getByText(/^starts \S/).waitFor()
      await page.getByText(/^Ends on \S/).waitFor()
      expect(await table.getByRole('columnheader', { name: 'Cause' }).count()).toBe(0)
      await expectAccessible(page)
      await press(page, 'Pause')
      await page.getByText('Paused', { exact: true }).first().waitFor()
      const rollout = page.url()
      for (let newer = 0; newer < 4; newer += 1)
        await upgradeBoxes(server, { mxedge_ids: [], versions: { tunterm: '2.0.0' } })
      await page.goto(org)
      const atOverview = page.getByRole('region', { name: 'Upgrades' }).getByRole('listitem')
      await atOverview.nth(3).waitFor()
      await atOverview.first().getByText('Paused by').waitFor()
      await atOverview.first().getByText('Tunnels, to tunterm 2.0.0').waitFor()
      await page.getByRole('link', { name: 'All upgrades' }).click()
      await page.getByRole('navigation', { name: 'Upgrades by state' }).getByText('Waiting').click()
      await page.getByText('1 upgrade', { exact: true }).waitFor()
      await expectAccessible(page)
      await page.goto(rollout)
      // It begins when somebody resumes it, not at its start.
      expect(await page.getByText(/^starts \S/).count()).toBe(0)
      await press(page, 'Resume')
      await page.getByRole('button', { name: 'Pause…' }).waitFor()
      // The order of the plan depends on the id of the upgrade.
      const started = new URL(page.url()).pathname.split('/').at(-1) ?? ''
      const [, last] = await targetsOf(server, started)
      await playUpgrades(server, [last.mxedge_id], server.org.orgId)
      await page.getByText('1 of 2 upgraded, 1 failed').waitFor()
      await table.getByRole('row').nth(1).getByText('Failed').waitFor()
      await page.getByRole('button', { name: 'Retry…' }).waitFor()
      // Nothing can be retried after its end.
      const setEnd = (endS: number) =>
        server.ctx.db
          .updateTable('mxedgeUpgrade')
          .set({ plan: sql`plan || jsonb_build_object('ends_s', ${endS}::float8)` })
          .where('id', '=', started)
          .execute()
      await setEnd(1)
      await page.reload()
      await page.getByText('1 of 2 upgraded, 1 failed').waitFor()
      expect(await page.getByRole('button', { name: 'Retry…' }).count()).toBe(0)
      await setEnd(4_000_000_000)
      await page.reload()
      await press(page, 'Retry')
      await playUpgrades(server, [], server.org.orgId)
      await page.getByText('2 of 2 upgraded').waitFor()
      await page.getByText('Completed', { exact: true }).first().waitFor()
      const timeline = page.getByRole('region', { name: 'Timeline' }).locator('.log-what')
      await timeline.getByText('Completed').waitFor()
      expect(await timeline.allTextContents()).toEqual([
        'Completed',
        'Phase ended · phase 2',
        'Retried',
        'Phase opened · phase 2',
        'Phase ended · phase 1',
        'Phase opened · phase 1',
        'Resumed',
        'Paused',
        'Approved · start',
        'Held',
        'Created',
      ])
      const { body: site } = await server.call('POST', `${org}/sites`, {
        body: { name: 'Bergen', timezone: 'Asia/Tokyo' },
      })
      const placed = [await addBox(server)]
      await server.call('POST', `${org}/mxedges/assign`, { body: { mxedge_ids: placed, site_id: site.id } })
      const idle = await upgradeBoxes(server, {
        mxedge_ids: placed,
        versions: { tunterm: '2.0.0' },
        start_time: Math.floor(Date.now() / 1000) + 3600,
        end_time: 4_000_000_000,
      })
      await page.goto(`${org}/upgrades/${idle.id}`)
      // All its appliances are in this zone.
      await page.getByText(/^starts .* GMT\+9$/).waitFor()
      await page.getByText('Ends on 02 Oct 2096, 16:06:40 GMT+9').waitFor()
      await page.getByRole('button', { name: /^Exclude… / }).waitFor()
      await expectAccessible(page)
      await press(page, 'Exclude')
      await page.getByText('Cancelled', { exact: true }).first().waitFor()
      await timeline.getByText('Appliances excluded').waitFor()
      await showsGates()
      const away = await addBox(server)
      await server.ctx.db.updateTable('mxedgeSession').set({ connected: false }).where('mxedgeId', '=', away).execute()
      const waiting = await upgradeBoxes(server, { mxedge_ids: [away], versions })
      await playUpgrades(server, [], server.org.orgId)
      await page.goto(`${org}/upgrades/${waiting.id}`)
      await page.getByText('This upgrade waits for 1 appliance that is offline.').waitFor()
      await table.getByRole('row').nth(1).getByText('offline').waitFor()
      await page.getByRole('link', { name: 'Upgrades' }).first().click()
      await page
        .getByRole('listitem')
        .filter({ hasText: 'Edge appliances' })
        .getByText('serial · 2 appliances')
        .waitFor()

      /** Shows the gates of phases, and offers an approval to nobody whose approval does not count. */
      async function showsGates(): Promise<void> {
        const gate = { phase: 1, wait_for: 'approval', approvals: 2, not_before: 4_000_000_000 }
        const phased = { strategy: 'canary', canary_phases: [50, 100], phase_gates: [gate] }
        const gated = [await addBox(server), await addBox(server)]
        const { id } = await upgradeBoxes(server, { mxedge_ids: gated, versions, ...phased })
        await playUpgrades(server, [], server.org.orgId)
        await page.goto(`${org}/upgrades/${id}`)
        const gates = page.getByRole('list', { name: 'Gates' })
        await gates.getByText('After phase 1 · waits for an approval').waitFor()
        await gates.getByText('2 approvals by different people: not given yet').waitFor()
        await gates.getByText(/^not before 02 Oct 2096, .+: not yet$/).waitFor()
        await expectAccessible(page)
        await page.getByRole('button', { name: 'Approve phase 1…' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByText(/up to 1 appliance, on 02 Oct 2096, .+ at the earliest\.$/).waitFor()
        await dialog.getByRole('button', { name: 'Approve phase 1' }).click()
        await page.getByText('You have approved it. 1 other person has yet to approve it.').waitFor()
        await gates.getByText('1 given, by').waitFor()
        expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
        await server.call('POST', `${org}/mxedges/upgrade/${id}/cancel`)
        await playUpgrades(server, [], server.org.orgId)
      }
    },
  )
}
