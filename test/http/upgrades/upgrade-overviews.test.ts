import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { uploadPackage } from '../../edge/upgrades/packages.ts'
import { addBox, playUpgrades, upgrade as upgradeBoxes } from '../../edge/upgrades/upgrade-world.ts'
import { addSite } from '../../support/fleets/devices.ts'
import type { Answer, TestServer } from '../../support/servers/server.ts'
import { startSsrWorld } from './ssr-world.ts'

let server: TestServer
let siteId: string
let path: string
let upgrade: (body: object) => Promise<Answer>
/** Upgrades two routers of each of these sites. */
let upgradeAt: (siteIds: readonly string[], body?: object) => Promise<Answer>
beforeAll(async () => {
  const world = await startSsrWorld()
  ;({ server, path } = world)
  upgradeAt = async (siteIds, body = {}) => {
    const ids: string[] = []
    for (const id of siteIds) ids.push(...(await world.connectRouters(id, 2)).map((router) => router.id))
    return server.call('POST', path, { body: { device_ids: ids, ...body } })
  }
  upgrade = (body) => upgradeAt([siteId], body)
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server)
})

const nowS = () => Math.floor(Date.now() / 1000)

describe('the list of upgrades of all kinds', () => {
  const all = (query = '') => server.call('GET', `/orgs/${server.org.orgId}/upgrades${query}`)

  test('has routers, devices and edge appliances, the newest first', async () => {
    // One more than the page has.
    await upgrade({})
    const { id: ofRouters } = (await upgrade({ strategy: 'serial' })).body
    const times = { start_time: nowS() + 1000, end_time: nowS() + 90_000 }
    const later = { site_ids: [siteId], versions: [{ version: '6.3.0' }], ...times }
    const { id: ofDevices } = (await server.call('POST', `/orgs/${server.org.orgId}/devices/upgrade`, { body: later }))
      .body
    const versions = { tunterm: '2.0.0' }
    await uploadPackage(server, '2.0.0')
    const box = await addBox(server)
    const { id: ofBox } = await upgradeBoxes(server, { mxedge_ids: [box], versions, start_time: nowS() + 1000 })
    const nothing = { upgrading: 0, success: 0, failed: 0, skipped: 0, cancelled: 0 }
    const { body, headers } = await all('?limit=3')
    expect(body).toMatchObject([
      {
        id: ofBox,
        kind: 'mxedge',
        versions: { mxagent: 'current', tunterm: '2.0.0' },
        counts: { queued: 1, total: 1 },
      },
      { id: ofDevices, kind: 'device', target_version: '6.3.0', sites: 1, ...times },
      { id: ofRouters, kind: 'ssr', target_version: '6.2.0' },
    ])
    expect(body[2]).toEqual({
      ...{ id: ofRouters, kind: 'ssr', status: 'queued', strategy: 'serial', target_version: '6.2.0', sites: 1 },
      ...{ created_time: expect.any(Number), start_time: expect.any(Number) },
      counts: { queued: 2, ...nothing, total: 2 },
    })
    expect(Number(headers.get('x-page-total'))).toBeGreaterThan(3)
    for (const one of body) expect((await all(`/${one.id}`)).body).toEqual(one)
    expect((await all('?kind=mxedge')).body).toEqual([body[0]])
    const routersOnly: AnyJson[] = (await all('?kind=ssr&limit=1000')).body
    expect([routersOnly[0], new Set(routersOnly.map(({ kind }) => kind))]).toEqual([body[2], new Set(['ssr'])])
    expect((await all('?kind=printer')).status).toBe(400)
    expect((await all(`/${siteId}`)).status).toBe(404)
  })

  test('shows what an upgrade waits for, and why it stops', async () => {
    const { id: ofRouters } = (await upgrade({})).body
    await server.call('POST', `${path}/${ofRouters}/cancel`)
    expect((await all(`/${ofRouters}`)).body).toMatchObject({ stop_reason: expect.stringContaining('cancelled by') })
    const box = await addBox(server)
    const { id: ofBox } = await upgradeBoxes(server, { mxedge_ids: [box], versions: { tunterm: '2.0.0' } })
    const boxes = `/orgs/${server.org.orgId}/mxedges/upgrade/${ofBox}`
    await server.call('POST', `${boxes}/pause`)
    expect((await all(`/${ofBox}`)).body).toMatchObject({ held: { by: 'user' } })
    const { id: ofDevices } = (await upgrade({ start_time: nowS() + 1000 })).body
    const site = `/sites/${siteId}`
    const waiting = async (place: string) =>
      (await server.call('GET', `${place}/upgrades?held=true`)).body.map(({ id }: { id: string }) => id)
    expect(await waiting(`/orgs/${server.org.orgId}`)).toEqual([ofBox])
    expect(await waiting(site)).toEqual([])
    await server.ctx.db
      .updateTable('siteUpgrade')
      .set({ hold: JSON.stringify({ by: 'approval', reason: 'phase 1 ended', since_s: nowS() }) })
      .where('orgUpgradeId', '=', ofDevices)
      .execute()
    expect(await waiting(`/orgs/${server.org.orgId}`)).toEqual([ofDevices, ofBox])
    expect(await waiting(site)).toEqual([ofDevices])
    const opens = { waitsUntil: new Date(1_893_456_000_000) }
    await server.ctx.db.updateTable('siteUpgrade').set(opens).where('orgUpgradeId', '=', ofDevices).execute()
    await server.ctx.db.updateTable('mxedgeUpgrade').set(opens).where('id', '=', ofBox).execute()
    for (const path of [`/orgs/${server.org.orgId}/upgrades/${ofBox}`, `${site}/upgrades/${ofDevices}`])
      expect((await server.call('GET', path)).body).toMatchObject({ waits_until: 1_893_456_000 })
    await server.call('POST', `/orgs/${server.org.orgId}/mxedges/assign`, {
      body: { mxedge_ids: [box], site_id: siteId },
    })
    expect(await waiting(site)).toEqual([ofDevices, ofBox])
    expect((await all('?held=false&kind=mxedge&limit=1')).body).toMatchObject([{ id: ofBox }])
  })

  test('at a site has the upgrades of its devices and appliances, and counts only these', async () => {
    const away = await addSite(server)
    const versions = { tunterm: '2.1.0' }
    await uploadPackage(server, '2.1.0')
    const { id: ofRouters } = (await upgradeAt([siteId, away])).body
    const boxes = [await addBox(server), await addBox(server)]
    for (const [index, site_id] of [siteId, away].entries())
      await server.call('POST', `/orgs/${server.org.orgId}/mxedges/assign`, {
        body: { mxedge_ids: boxes.slice(index, index + 1), site_id },
      })
    const { id: ofBoxes } = await upgradeBoxes(server, { mxedge_ids: boxes, versions })
    const at = (site: string, query = '') => server.call('GET', `/sites/${site}/upgrades${query}`)
    const { body, headers } = await at(siteId)
    expect(headers.get('x-page-total')).toBe('2')
    expect(body).toMatchObject([
      { id: ofBoxes, kind: 'mxedge', other_sites: true, counts: { queued: 1, total: 1 } },
      { id: ofRouters, kind: 'ssr', sites: 1, other_sites: true, counts: { queued: 2, total: 2 } },
    ])
    expect((await at(siteId, '?kind=ssr')).body).toEqual([body[1]])
    expect((await at(siteId, '?kind=mxedge')).body).toEqual([body[0]])
    expect((await at(siteId, '?kind=device')).body).toEqual([])
    expect((await all(`/${ofRouters}`)).body).toMatchObject({ sites: 2, counts: { total: 4 } })
    await server.call('POST', `/sites/${siteId}/ssr/upgrade/${ofRouters}/cancel`)
    expect((await at(siteId, '?kind=ssr')).body[0].stop_reason).toContain('cancelled by')
    // The other site goes on.
    expect((await all(`/${ofRouters}`)).body).not.toHaveProperty('stop_reason')
  })

  test('counts what an upgrade awaits, at a site only of its part, which stops waiting there', async () => {
    const away = await addSite(server)
    await upgradeAt([siteId, away], { start_time: nowS() + 1000 })
    const joining = { site_ids: [siteId, away], versions: [{ version: '6.3.0' }], include_new: true }
    const { id } = (await server.call('POST', `/orgs/${server.org.orgId}/devices/upgrade`, { body: joining })).body
    const atSite = () => server.call('GET', `/sites/${siteId}/upgrades/${id}`)
    expect((await all(`/${id}`)).body).toMatchObject({ awaited: 4 })
    expect((await atSite()).body).toMatchObject({ awaited: 2, other_sites: true })
    await server.call('POST', `/sites/${siteId}/devices/upgrade/${id}/cancel`)
    expect((await atSite()).body).not.toHaveProperty('awaited')
    expect((await all(`/${id}`)).body).toMatchObject({ awaited: 2 })
    await uploadPackage(server, '2.2.0')
    const mxedge_ids = [await addBox(server)]
    const versions = { tunterm: '2.2.0' }
    await upgradeBoxes(server, { mxedge_ids, versions, start_time: nowS() + 1000 })
    const ofBoxes = await upgradeBoxes(server, { versions, include_new: true })
    expect((await all(`/${ofBoxes.id}`)).body.awaited).toBeGreaterThan(0)
  })

  test('of appliances that are at one site alone is changed there as one that was created there, wherever they are later', async () => {
    const [here, there] = [await addSite(server), await addSite(server)]
    const box = await addBox(server)
    const assign = (site_id: string) =>
      server.call('POST', `/orgs/${server.org.orgId}/mxedges/assign`, { body: { mxedge_ids: [box], site_id } })
    await assign(here)
    const versions = { tunterm: '2.0.0' }
    const { id } = await upgradeBoxes(server, { mxedge_ids: [box], versions })
    const boxes = `/sites/${here}/mxedges/upgrade`
    const listed = async (site: string) => (await server.call('GET', `/sites/${site}/upgrades`)).body
    expect(await listed(here)).toEqual([expect.objectContaining({ id, counts: expect.objectContaining({ total: 1 }) })])
    expect((await listed(here))[0]).not.toHaveProperty('other_sites')
    expect((await server.call('GET', boxes)).body).toMatchObject([{ id }])
    expect(await server.call('PUT', `${boxes}/${id}`, { body: { versions } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('it was created in the organization') },
    })
    expect(await server.call('POST', `${boxes}/${id}/pause`)).toMatchObject({ status: 200 })
    expect((await listed(here))[0]).toMatchObject({ held: { by: 'user' } })
    const { body: log } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
    expect(log.results[0]).toMatchObject({ site_id: here, after: { id, type: 'UPGRADE_PAUSED' } })
    await server.call('POST', `${boxes}/${id}/cancel`)
    await playUpgrades(server, [], server.org.orgId)
    const { body: made } = await server.call('POST', boxes, { body: { versions } })
    await assign(there)
    expect(await listed(here)).toMatchObject([{ id: made.id, counts: { total: 1 } }])
    expect((await listed(here))[0]).not.toHaveProperty('other_sites')
    expect((await listed(there)).map((one: AnyJson) => [one.id, one.other_sites])).toEqual([
      [made.id, true],
      [id, undefined],
    ])
    expect(await server.call('POST', `/sites/${there}/mxedges/upgrade/${made.id}/pause`)).toMatchObject({ status: 404 })
    const joins = await upgradeBoxes(server, { versions, include_new: true, supersede: true })
    expect((await listed(there))[0]).toMatchObject({ id: joins.id, other_sites: true })
  })
})
