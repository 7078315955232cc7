import { afterEach, describe, expect, test } from 'vitest'
import { find, targetsOf, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const given = useMxedgeUpgrades()

describe('maintenance windows', () => {
  /** The time in the given number of hours, on the hour. */
  const hour = (hours: number) => `${String((new Date().getUTCHours() + hours) % 24).padStart(2, '0')}:00`
  const setWindows = (windows: unknown) =>
    given.world.call('PUT', `/orgs/${given.world.org.orgId}/setting`, { body: { maintenance_windows: windows } })
  afterEach(() => setWindows([]))

  test('of the request keep appliances waiting until they open, and those of the settings do, too', async () => {
    const windows = [{ start: hour(6), end: hour(9) }]
    const text = `daily ${hour(6)}-${hour(9)} (UTC)`
    const own = await upgrade(
      given.world,
      given.tunterm({ mxedge_ids: given.boxes.slice(0, 1), maintenance_windows: windows }),
    )
    expect(own.notes).toEqual([
      { reason: `Edge appliances begin only in the maintenance windows of the request: ${text}` },
    ])
    await setWindows(windows)
    const { id, notes } = await upgrade(given.world, given.tunterm({ mxedge_ids: given.boxes.slice(1, 2) }))
    expect(notes).toEqual([
      { reason: `Edge appliances begin only in the maintenance windows of the settings: ${text}` },
    ])
    await given.play()
    for (const waiting of [id, own.id]) {
      const record = await find(given.world, waiting)
      expect(record).toMatchObject({ counts: { queued: 1, upgrading: 0 }, waits_until: expect.any(Number) })
      expect(new Date(record.waits_until * 1000).getUTCHours()).toBe(Number(hour(6).slice(0, 2)))
      await given.act(waiting, 'cancel')
    }
    const urgent = await upgrade(
      given.world,
      given.tunterm({ mxedge_ids: given.boxes.slice(2), maintenance_windows: [] }),
    )
    expect(urgent.notes).toEqual([
      { reason: `The maintenance windows of the settings do not apply: daily ${hour(6)}-${hour(9)}` },
    ])
    await given.play()
    expect(await find(given.world, urgent.id)).toMatchObject({ status: 'completed', counts: { success: 1 } })
    expect(await find(given.world, id)).not.toHaveProperty('waits_until')
  })

  test('on the clocks of its site let an appliance begin, and one that is too short for it leaves it out', async () => {
    const site = { name: 'Tokyo', timezone: 'Asia/Tokyo' }
    const siteId = (await given.world.call('POST', `/orgs/${given.world.org.orgId}/sites`, { body: site })).body.id
    const atSite = { mxedge_ids: given.boxes.slice(0, 1), site_id: siteId }
    await given.world.call('POST', `/orgs/${given.world.org.orgId}/mxedges/assign`, { body: atSite })
    const mxedge_ids = given.boxes.slice(0, 2)
    // In Tokyo it is nine hours later: the window is open there, and nowhere else.
    const open = [{ start: hour(8), end: hour(12) }]
    const { id } = await upgrade(given.world, given.tunterm({ mxedge_ids, maintenance_windows: open }))
    await given.play()
    expect(await given.idsBy(id, 'success')).toEqual(given.boxes.slice(0, 1))
    expect(await given.idsBy(id, 'queued')).toEqual(given.boxes.slice(1, 2))
    const siteOf = new Map(
      (await targetsOf(given.world, id)).map((target: AnyJson) => [target.mxedge_id, target.site_id]),
    )
    expect(mxedge_ids.map((one) => siteOf.get(one))).toEqual([siteId, undefined])
    await given.act(id, 'cancel')
    const short = [{ start: '01:00', end: '01:20' }]
    const { notes } = await upgrade(
      given.world,
      given.tunterm({ mxedge_ids: given.boxes.slice(2), maintenance_windows: short }),
    )
    const reason = 'skipped: it may take 20 minutes, and no maintenance window of its site has more than 20'
    expect(notes).toContainEqual({ mxedge_id: given.boxes[2], reason })
    const endless = await given.post(given.tunterm({ maintenance_windows: [{ start: '01:00', end: '01:00' }] }))
    expect([endless.status, endless.body.detail]).toEqual([400, expect.stringContaining('maintenance_windows.0.end')])
    await given.play()
  })
})
