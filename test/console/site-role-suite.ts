import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { beginAutoUpgrades } from '../../src/upgrades/automatic/auto-upgrade.worker.ts'
import { uploadPackage } from '../edge/upgrades/packages.ts'
import { addBox, playUpgrades } from '../edge/upgrades/upgrade-world.ts'
import { NEW, seedOrg } from '../support/fleets/fleet.ts'
import { addPerson, addPrivilege } from '../support/people.ts'
import { expectAccessible } from './axe.ts'
import { WITHIN_MS } from './demo.ts'
import { macText } from './upgrades-suite.ts'
import type { ConsoleWorld } from './world.ts'

/** What a person with a role in a single site changes there. */
export function testSiteRole(opened: () => ConsoleWorld): void {
  it(
    'lets a role in a single site beside a reading one approve and cancel an upgrade there',
    { timeout: WITHIN_MS },
    async () => {
      const server = opened()
      const owner = await server.addOrg('Gated')
      const seeds = ['Bergen', 'Voss', 'Odda'].map((name) => ({ devices: 2, name, timezone: 'Asia/Tokyo' }))
      const [site, ...others] = (await seedOrg(server.ctx, seeds, owner.orgId)).sites
      const body = {
        version: NEW,
        phase_gates: [{ phase: 0, wait_for: 'approval', approvals: 3 }],
      }
      const upgrades = `/sites/${site?.id}/devices/upgrade`
      const { body: made } = await server.call('POST', upgrades, { body, as: owner })
      const person = await addPerson(server, [])
      const at = { orgId: owner.orgId, adminId: person.adminId }
      await addPrivilege(server, at, { scope: 'org', role: 'read' })
      for (const one of [site, others[0]])
        await addPrivilege(server, at, { scope: 'site', role: 'write', site_id: one?.id ?? '' })
      const { page, context } = await server.enter(person, `/orgs/${owner.orgId}/sites/${site?.id}`)
      await page.clock.install()
      // As if a gate between phases waited, which may have a time.
      await page.route('**/report?**', async (route) => {
        const answer = await (await route.fetch()).json()
        await route.fulfill({ json: { ...answer, start_gate: { ...answer.start_gate, not_before: 4_000_000_000 } } })
      })
      await page.route('**/cancel', (route) =>
        route.fulfill({ status: 400, json: { detail: 'It ended at 2025-12-01T03:20:00.000Z' } }),
      )
      await page.reload()
      const panel = page.getByRole('region', { name: 'Upgrades' })
      for (const action of ['Approve', 'Cancel']) {
        await panel.getByRole('button', { name: `${action}…` }).click()
        if (action === 'Approve') {
          // The page of a site has the zone of the site, also in dialogs.
          await page.getByRole('dialog').getByText('on 02 Oct 2096, 16:06:40 GMT+9 at the earliest').waitFor()
          await page.getByRole('dialog').getByLabel('Note for the record').fill('after the fair')
          // The dialog stays while another person approves.
          await server.call('POST', `${upgrades}/${made.upgrade_id}/approve`, { body: { phase: 0 }, as: owner })
          await page.clock.runFor(10_000)
          await panel.getByText(/2 of 3 approvals/).waitFor()
        }
        const confirm = page.getByRole('dialog').getByRole('button', { name: action, exact: true })
        if (action === 'Cancel') {
          await confirm.click()
          await page.getByRole('dialog').getByText('It ended at 01 Dec 2025, 12:20:00 GMT+9').waitFor()
          await page.unroute('**/cancel')
        }
        await confirm.click()
        await panel.getByRole('button', { name: `${action}…` }).waitFor({ state: 'detached' })
        if (action === 'Approve')
          await panel.getByText('You have approved it. 1 other person has yet to approve it.').waitFor()
      }
      const { body: record } = await server.call('GET', `${upgrades}/${made.upgrade_id}`, { as: owner })
      expect(record.stop_reason).toContain(person.email)
      const { body: report } = await server.call('GET', `${upgrades}/${made.upgrade_id}/report`, { as: owner })
      expect(report.start_gate.approved_by).toMatchObject([{ name: expect.any(String) }, { note: 'after the fair' }])
      const later = { version: NEW, start_datetime: '2096-01-01T00:00:00' }
      for (const more of [later, { version: NEW, include_new: true, reboot: true }])
        await server.call('POST', upgrades, { body: more, as: owner })
      const auto = { auto_upgrade: { enabled: true, time_of_day: '04:20' } }
      await server.call('PUT', `/sites/${site?.id}/setting`, { body: auto, as: owner })
      await beginAutoUpgrades(server.ctx)
      await server.ctx.db
        .updateTable('siteAutoUpgrade')
        .set({ ranAt: new Date('2025-11-30T03:20:00Z'), reason: 'ends at 2025-12-01T03:20:00.000Z' })
        .where('siteId', '=', site?.id ?? '')
        .execute()
      await page.clock.runFor(10_000)
      await page.getByText(/^Next automatic upgrade: .*04:20.*: ends at 01 Dec 2025, /).waitFor()
      await panel.getByText('This upgrade awaits 2 devices that are in other upgrades.').waitFor()
      await panel.getByRole('button', { name: 'Stop waiting…' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Stop waiting' }).click()
      await panel.getByText(/awaits/).waitFor({ state: 'detached' })
      // The other actions concern all sites of an upgrade.
      const both = { version: NEW, site_ids: others.map(({ id }) => id), start_datetime: '2096-01-01T00:00:00' }
      const { body: whole } = await server.call('POST', `/orgs/${owner.orgId}/devices/upgrade`, {
        body: both,
        as: owner,
      })
      await server.call('POST', `/orgs/${owner.orgId}/devices/upgrade/${whole.id}/pause`, { as: owner })
      await page.goto(`/orgs/${owner.orgId}/sites/${others[0]?.id}`)
      await panel.getByRole('button', { name: 'Cancel…' }).waitFor()
      expect(await panel.getByRole('button').allTextContents()).toEqual(['Cancel…'])
      await panel.getByText(`Paused by ${owner.email}`).waitFor()
      await panel.getByText('Devices', { exact: true }).click()
      const [one, other] = others[0]?.devices ?? []
      await panel.getByRole('button', { name: `Exclude… ${macText(one?.mac ?? '')}` }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Note for the record').fill('the rack moves')
      await dialog.getByRole('button', { name: 'Exclude', exact: true }).click()
      await panel.getByText(/^excluded by .+: the rack moves$/i).waitFor()
      // The open list follows what others do.
      await server.call('POST', `/orgs/${owner.orgId}/devices/upgrade/${whole.id}/exclude`, {
        body: { macs: [other?.mac] },
        as: owner,
      })
      await panel.locator('details').getByText(`excluded by ${owner.email}`).waitFor()
      await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
      await uploadPackage(server, '2.0.0', { org: owner })
      const boxes = [
        await addBox(server, { org: owner, body: { name: 'Edge one' } }),
        await addBox(server, { org: owner }),
      ]
      const assigned = { mxedge_ids: boxes, site_id: others[0]?.id }
      await server.call('POST', `/orgs/${owner.orgId}/mxedges/assign`, { body: assigned, as: owner })
      await server.call('POST', `/orgs/${owner.orgId}/mxedges/upgrade`, {
        body: { mxedge_ids: boxes, versions: { tunterm: '2.0.0' } },
        as: owner,
      })
      await page.reload()
      await panel.getByText('Appliances', { exact: true }).click()
      await panel.getByRole('button', { name: 'Exclude… Edge one' }).click()
      await dialog.getByRole('button', { name: 'Exclude', exact: true }).click()
      await panel.getByText(/^excluded by /i).waitFor()
      await panel.getByRole('button', { name: 'Pause…' }).click()
      await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
      await panel.getByText(`Paused by ${person.email}`).waitFor()
      await expectAccessible(page)
      await approveAppliances()
      await page.setViewportSize({ width: 390, height: 844 })
      await expectAccessible(page)
      await context.close()

      /** The dialog stays here, too, while another person approves. */
      async function approveAppliances(): Promise<void> {
        const inOrg = `/orgs/${owner.orgId}/mxedges/upgrade`
        const [{ id: paused }] = (await server.call('GET', inOrg, { as: owner })).body
        await server.call('POST', `${inOrg}/${paused}/cancel`, { as: owner })
        await playUpgrades(server, [], owner.orgId)
        const gate = { phase: 1, wait_for: 'approval', approvals: 3 }
        const gated = { strategy: 'canary', canary_phases: [50, 100], phase_gates: [gate] }
        const wanted = { mxedge_ids: boxes, versions: { tunterm: '2.0.0' }, ...gated }
        const { body: waits } = await server.call('POST', inOrg, { body: wanted, as: owner })
        await playUpgrades(server, [], owner.orgId)
        await page.reload()
        await panel.getByRole('button', { name: 'Approve phase 1…' }).click()
        await dialog.getByLabel('Note for the record').fill('after the fair')
        await server.call('POST', `${inOrg}/${waits.id}/approve`, { body: { phase: 1 }, as: owner })
        await page.clock.runFor(10_000)
        await panel.getByText(/2 of 3 approvals/).waitFor()
        await dialog.getByRole('button', { name: 'Approve phase 1' }).click()
        await panel.getByText(/1 of 3 approvals/).waitFor()
        await panel.getByText('You have approved it. 1 other person has yet to approve it.').waitFor()
        expect(await panel.getByRole('button', { name: /^Approve/ }).count()).toBe(0)
        const { body: approved } = await server.call('GET', `${inOrg}/${waits.id}`, { as: owner })
        expect(approved.approvals).toMatchObject([{ phase: 1 }, { note: 'after the fair' }])
      }
    },
  )
}
