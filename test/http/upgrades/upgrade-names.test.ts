import { expect, it } from 'vitest'
import { watchAlarms } from '../../../src/app/alarm-watch.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const NAME = 'Friday: access points of Berlin'
const harness = createUpgradesHarness()
const { post, get } = harness
const read = async (path: string) => (await harness.server.call('GET', path, { as: harness.admin })).body

it('an upgrade shows its name in its record, its report, the lists and its alarm', async () => {
  const gate = { phase_gates: [{ phase: 0, wait_for: 'approval' }] }
  const { body: plan } = await post({ all_sites: true, name: NAME, ...gate, dry_run: true })
  expect(plan).toMatchObject({ name: NAME })
  const { body } = await post({ plan_id: plan.plan_id })
  expect(body).toMatchObject({ id: plan.plan_id, name: NAME })
  expect((await get('')).body).toMatchObject([{ id: body.id, name: NAME }])
  expect((await get(`/${body.id}/report`)).body).toMatchObject({ name: NAME })
  expect(await read(`/orgs/${harness.admin.orgId}/upgrades`)).toMatchObject([{ id: body.id, name: NAME }])
  const [part] = body.upgrades
  const atSite = `/sites/${part.site_id}/devices/upgrade`
  expect(await read(atSite)).toMatchObject([{ id: part.upgrade.id, name: NAME }])
  expect(await read(`${atSite}/${part.upgrade.id}`)).toMatchObject({ name: NAME })
  const { results: logged } = await read(`/orgs/${harness.admin.orgId}/logs`)
  expect(logged.slice(0, 2)).toMatchObject([
    { message: `Upgrade "${NAME}" (${body.id}) held: its start waits for an approval` },
    { message: expect.stringMatching(/^Upgrade \d+ devices to \S+ \("Friday: access points of Berlin"\)$/) },
  ])
  const stored = await harness.server.ctx.db
    .selectFrom('upgradeEvent')
    .select('event')
    .where('orgUpgradeId', '=', body.id)
    .execute()
  expect(stored.map(({ event }) => event.upgrade_name)).toEqual([NAME, NAME])
  await watchAlarms(harness.server.ctx)
  const { results } = await read(`/orgs/${harness.admin.orgId}/alarms/search`)
  expect(results).toMatchObject([{ type: 'upgrade_held', text: expect.stringContaining(`The upgrade "${NAME}"`) }])
})

it('the plan that takes its devices over names it', async () => {
  const { body: old } = await post({ all_sites: true, name: NAME })
  const { body: plan } = await post({ all_sites: true, supersede: true, dry_run: true })
  const [{ reason }] = plan.notes
  expect(reason).toMatch(/^\d+ devices are taken over from upgrade /)
  expect(reason.endsWith(` upgrade "${NAME}" (${old.id})`)).toBe(true)
})

it('one without a name has none, and an impossible one is refused', async () => {
  const { body } = await post({ all_sites: true })
  expect(body).not.toHaveProperty('name')
  expect((await read(`/orgs/${harness.admin.orgId}/upgrades/${body.id}`)).name).toBeUndefined()
  for (const name of ['', '  ', 'x'.repeat(101), 7])
    expect(await post({ all_sites: true, name })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field name') },
    })
})
