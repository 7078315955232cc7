import { expect, it } from 'vitest'
import { NEW, seedOrg } from '../support/fleets/fleet.ts'
import { addPerson, addPrivilege } from '../support/people.ts'
import { WITHIN_MS } from './demo.ts'
import type { ConsoleWorld } from './world.ts'

/** What a person with a role in a single site changes there. */
export function testSiteRole(opened: () => ConsoleWorld): void {
  it(
    'lets a role in a single site beside a reading one approve and cancel an upgrade there',
    { timeout: WITHIN_MS },
    async () => {
      const server = opened()
      const owner = await server.addOrg('Gated')
      const seeds = ['Bergen', 'Voss', 'Odda'].map((name) => ({ devices: 2, name }))
      const [site, ...others] = (await seedOrg(server.ctx, seeds, owner.orgId)).sites
      const body = { version: NEW, phase_gates: [{ phase: 0, wait_for: 'approval', approvals: 2 }] }
      const upgrades = `/sites/${site?.id}/devices/upgrade`
      const { body: made } = await server.call('POST', upgrades, { body, as: owner })
      const person = await addPerson(server, [])
      const at = { orgId: owner.orgId, adminId: person.adminId }
      await addPrivilege(server, at, { scope: 'org', role: 'read' })
      for (const one of [site, others[0]])
        await addPrivilege(server, at, { scope: 'site', role: 'write', site_id: one?.id ?? '' })
      const { page, context } = await server.enter(person, `/orgs/${owner.orgId}/sites/${site?.id}`)
      const panel = page.getByRole('region', { name: 'Upgrades' })
      for (const action of ['Approve', 'Cancel']) {
        await panel.getByRole('button', { name: `${action}…` }).click()
        await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
        await panel.getByRole('button', { name: `${action}…` }).waitFor({ state: 'detached' })
        if (action === 'Approve')
          await panel.getByText('You have approved it. 1 other person has yet to approve it.').waitFor()
      }
      const { body: record } = await server.call('GET', `${upgrades}/${made.upgrade_id}`, { as: owner })
      expect(record.stop_reason).toContain(person.email)
      // The other actions concern all sites of an upgrade.
      const both = { version: NEW, site_ids: others.map(({ id }) => id) }
      await server.call('POST', `/orgs/${owner.orgId}/devices/upgrade`, { body: both, as: owner })
      await page.goto(`/orgs/${owner.orgId}/sites/${others[0]?.id}`)
      await panel.getByRole('button', { name: 'Cancel…' }).waitFor()
      expect(await panel.getByRole('button').allTextContents()).toEqual(['Cancel…'])
      await context.close()
    },
  )
}
