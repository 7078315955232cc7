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
      const [site] = (await seedOrg(server.ctx, [{ devices: 2, name: 'Bergen' }], owner.orgId)).sites
      const body = { version: NEW, phase_gates: [{ phase: 0, wait_for: 'approval', prevent_self_approval: true }] }
      const upgrades = `/sites/${site?.id}/devices/upgrade`
      const { body: made } = await server.call('POST', upgrades, { body, as: owner })
      const person = await addPerson(server, [])
      const at = { orgId: owner.orgId, adminId: person.adminId }
      await addPrivilege(server, at, { scope: 'org', role: 'read' })
      await addPrivilege(server, at, { scope: 'site', role: 'write', site_id: site?.id ?? '' })
      const { page, context } = await server.enter(person, `/orgs/${owner.orgId}/sites/${site?.id}`)
      const panel = page.getByRole('region', { name: 'Upgrades' })
      for (const action of ['Approve', 'Cancel']) {
        await panel.getByRole('button', { name: `${action}…` }).click()
        await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
        await panel.getByRole('button', { name: `${action}…` }).waitFor({ state: 'detached' })
      }
      const { body: record } = await server.call('GET', `${upgrades}/${made.upgrade_id}`, { as: owner })
      expect(record.stop_reason).toContain(person.email)
      await context.close()
    },
  )
}
