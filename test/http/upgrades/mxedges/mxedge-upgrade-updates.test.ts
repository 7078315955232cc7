// Changes of the request of an upgrade of edge appliances.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../../src/mxedges/upgrades/worker.ts'
import { find, pathOf, targetsOf, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { addSite } from '../../../support/fleets/devices.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const given = useMxedgeUpgrades()

const put = (id: string, body: object) => given.world.call('PUT', `${pathOf(given.world)}/${id}`, { body })

describe('PUT', () => {
  test('changes what it names of a queued upgrade, and plans it anew', async () => {
    const latest = given.tunterm({ versions: { tunterm: 'latest' } })
    const { id } = await upgrade(given.world, latest)
    const two = given.boxes.slice(0, 2)
    const { body: changed } = await put(id, { strategy: 'serial', mxedge_ids: two })
    expect(changed).toMatchObject({ id, strategy: 'serial', versions: { tunterm: 'latest' }, counts: { queued: 2 } })
    const members = new Set((await targetsOf(given.world, id)).map(({ mxedge_id }) => mxedge_id))
    expect(members).toEqual(new Set(two))
    // Some clients send null for a list that is not set. Without the list, it would mean all appliances.
    for (const body of [{ versions: { tunterm: '9.9.9' } }, { mxedge_ids: null }])
      expect((await put(id, body)).status).toBe(400)
    expect(await given.post({ ...latest, mxedge_ids: null })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('mxedge_ids') },
    })
    expect(await find(given.world, id)).toEqual(changed)
    await given.act(id, 'cancel')
    const refused = await put(id, { channel: 'beta' })
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      'The upgrade is cancelled; only the name of one that is not queued can be changed',
    ])
  })

  test('names an upgrade that runs, is being cancelled or has ended, and changes nothing else of it', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ strategy: 'serial' }))
    await advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)
    const renamed = async (name: string) => {
      const before = await find(given.world, id)
      const targets = await targetsOf(given.world, id)
      expect(await put(id, { name })).toMatchObject({ status: 200, body: { ...before, name } })
      expect(await targetsOf(given.world, id)).toEqual(targets)
      expect((await given.messagesOf(id))[0]).toMatch(new RegExp(`^Rename upgrade "${name}" `))
      return before.status
    }
    expect(await renamed('Tunnels')).toBe('upgrading')
    expect((await put(id, { name: 'Agents', strategy: 'canary' })).body.detail).toBe(
      'The upgrade is upgrading; only the name of one that is not queued can be changed',
    )
    await given.act(id, 'cancel')
    expect(await renamed('Too late')).toBe('upgrading')
    await given.play()
    expect(await renamed('Stopped')).toBe('cancelled')
  })

  test('names an upgrade by its record, also if it has gone on since that was read', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ strategy: 'serial' }))
    const queued = await find(given.world, id)
    await advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)
    const running = await find(given.world, id)
    expect([queued.status, running.status]).toEqual(['queued', 'upgrading'])
    const named = { ...queued, name: 'Tunnels' }
    expect(await put(id, named)).toMatchObject({ status: 200, body: { ...running, name: 'Tunnels' } })
    await given.act(id, 'cancel')
    await given.play()
    const ended = await find(given.world, id)
    expect(await put(id, { ...running, name: 'Agents' })).toMatchObject({
      status: 200,
      body: { ...ended, name: 'Agents' },
    })
    expect(await put(id, { status: 'completed' })).toMatchObject({ status: 400 })
  })

  test('takes the record back as it was read, and no other value of what the service sets', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ strategy: 'canary' }))
    const { gates, ...read } = await find(given.world, id)
    expect(gates[0]).toMatchObject({ phase: 1, gate: { max_failure_percentage: 5 } })
    const { status, body } = await put(id, { ...read, gates, max_failure_percentage: 20 })
    // The new plan starts now, like the one before.
    const replanned = { ...read, start_time: expect.any(Number), max_failure_percentage: 20 }
    expect([status, body]).toMatchObject([200, replanned])
    expect(body.gates[0]).toMatchObject({ phase: 1, gate: { max_failure_percentage: 20 } })
    const others = { id: randomUUID(), status: 'completed', phase: 2, created_time: 1, stop_reason: 'enough' }
    for (const [field, value] of Object.entries(others))
      expect(await put(id, { [field]: value })).toMatchObject({
        status: 400,
        body: { detail: `Invalid field ${field}: can't be changed: the service sets it` },
      })
  })

  test('of an upgrade of a site covers only the appliances there, also by the path of the organization', async () => {
    const [there, elsewhere] = given.boxes
    const siteId = await addSite(given.world, 'Site')
    const body = { mxedge_ids: [there], site_id: siteId }
    await given.world.call('POST', `/orgs/${given.world.org.orgId}/mxedges/assign`, { body })
    const versions = { tunterm: 'latest' }
    const { body: made } = await given.world.call('POST', `/sites/${siteId}/mxedges/upgrade`, { body: { versions } })
    expect((await put(made.id, { strategy: 'serial' })).body).toMatchObject({ site_id: siteId, counts: { total: 1 } })
    expect(await targetsOf(given.world, made.id)).toMatchObject([{ mxedge_id: there }])
    expect((await put(made.id, { mxedge_ids: [elsewhere] })).body.detail).toBe(
      `Invalid field mxedge_ids: this site has no edge appliance ${elsewhere}`,
    )
  })
})
