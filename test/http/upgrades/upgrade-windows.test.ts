import { describe, expect, it } from 'vitest'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { NEW } from '../../support/fleets/fleet.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post, get, macsOf, siteId, siteUpgrades } = harness

const nights = [{ days: ['sat', 'sun'], start: '22:00', end: '04:00' }]
const daily = [{ start: '01:00', end: '05:00' }]

const put = async (path: string, maintenance_windows: unknown): Promise<AnyJson> => {
  const { server, admin } = harness
  return server.call('PUT', `${path}/setting`, { body: { maintenance_windows }, as: admin })
}
const putOrg = (windows: unknown) => put(`/orgs/${harness.admin.orgId}`, windows)
const putSite = (site: number, windows: unknown) => put(`/sites/${siteId(site)}`, windows)
const windowsOf = async () => {
  const bySite = new Map((await siteUpgrades()).map((one) => [one.siteId, one.plan.windows]))
  return [0, 1].map((site) => bySite.get(siteId(site)))
}

/** Formats the time as clocks in Berlin show it. */
const formatTime = (ms: number): string =>
  new Date(ms).toLocaleTimeString('de', { timeZone: 'Europe/Berlin', timeStyle: 'short' })

describe('maintenance windows', () => {
  it('are those of the request, else of the site, else of the organization', async () => {
    expect(await putOrg(nights)).toMatchObject({ status: 200, body: { maintenance_windows: nights } })
    expect(await putSite(0, daily)).toMatchObject({ status: 200, body: { maintenance_windows: daily } })
    expect((await putSite(0, [{ start: '2:15', end: '24:01' }])).body.detail).toMatch(
      /^Invalid field maintenance_windows\.0\.start: "2:15" must be a time of day such as 02:30/,
    )
    const { body } = await post({ all_sites: true })
    expect(await windowsOf()).toEqual([daily, nights])
    const reasonsAt = (record: AnyJson, site: number): string[] =>
      record.upgrades
        .find((one: AnyJson) => one.site_id === siteId(site))
        .upgrade.notes.map(({ reason }: AnyJson) => reason)
    expect(reasonsAt(body, 0)).toEqual([
      "Devices begin only in the maintenance windows of the site's settings: daily 01:00-05:00 (Europe/Berlin)",
    ])
    expect((await get(`/${body.id}`)).status).toBe(200)
    await harness.server.call('POST', `/orgs/${harness.admin.orgId}/devices/upgrade/${body.id}/cancel`, {
      as: harness.admin,
    })
  })

  it('of the settings do not apply to a request with others or none, which its record says', async () => {
    await putOrg(nights)
    const { body } = await post({ all_sites: true, maintenance_windows: [], dry_run: true })
    expect(body.notes.map(({ reason }: AnyJson) => reason)).toEqual(
      Array.from(
        { length: 2 },
        () => "The maintenance windows of the site's settings do not apply: sat, sun 22:00-04:00",
      ),
    )
    expect(body.phases[0].sites[0]).not.toHaveProperty('begins_about')
    await putSite(0, [])
    await post({ all_sites: true })
    expect(await windowsOf()).toEqual([undefined, nights])
  })

  it('of the settings apply without those that have impossible values from before they were checked', async () => {
    const store = (windows: unknown) =>
      harness.server.ctx.db
        .updateTable('siteSetting')
        .set({ doc: documentText({ maintenance_windows: windows }) })
        .where('siteId', '=', siteId(0))
        .execute()
    await putOrg(nights)
    // Its row exists then.
    await putSite(0, daily)
    const [day] = daily
    const badTimes = [null, 5, [], {}, { ...day, start: 1 }, { ...day, start: '24:00' }, { ...day, end: '1:00' }]
    const badDays = [
      { ...day, days: 'mon' },
      { ...day, days: [] },
      { ...day, days: ['Monday'] },
      { ...day, days: null },
    ]
    const reasons = async (): Promise<string[]> => {
      const { body } = await post({ all_sites: true, maintenance_windows: [], dry_run: true })
      return body.notes.map(({ reason }: AnyJson) => reason)
    }
    const ofSettings = "The maintenance windows of the site's settings do not apply:"
    await store([...badTimes, ...daily, ...badDays])
    expect(await reasons()).toContain(`${ofSettings} daily 01:00-05:00`)
    await store([...badTimes, ...badDays])
    expect(await reasons()).toEqual([`${ofSettings} sat, sun 22:00-04:00`])
  })

  it('count for the estimates of a preview, and leave out devices that take longer', async () => {
    // The window is closed while the test runs.
    const later = (Number(formatTime(Date.now()).slice(0, 2)) + 6) % 24
    const hour = String(later).padStart(2, '0')
    const short = [{ start: `${hour}:00`, end: `${hour}:15` }]
    const { body } = await post({ all_sites: true, strategy: 'serial', maintenance_windows: short, dry_run: true })
    expect(body.total).toBe(3)
    expect(body.skipped).toEqual(
      macsOf(1).map((mac) => ({
        mac,
        reason: 'may take 20 minutes, and no maintenance window of its site has more than 15',
      })),
    )
    // One night per access point: a second one would not end in time.
    const begins: number[] = body.phases.map(({ sites }: AnyJson) => sites[0].begins_about)
    expect(begins.map((at) => formatTime(at * 1000))).toEqual([`${hour}:00`, `${hour}:00`, `${hour}:00`])
    expect(new Set(begins).size).toBe(3)
    expect(body.ends_about).toBe((begins[2] ?? 0) + 8 * 60)
  })

  it('are facts that a plan relies on', async () => {
    await putSite(0, daily)
    const { body: plan } = await post({ all_sites: true, dry_run: true })
    await putSite(0, nights)
    const refused = await post({ plan_id: plan.plan_id })
    const inBerlin = (windows: string): string => `the maintenance windows ${windows} (Europe/Berlin)`
    expect(refused).toMatchObject({
      status: 409,
      body: {
        differences: [
          {
            site_id: siteId(0),
            reason: `has ${inBerlin('sat, sun 22:00-04:00')}, not ${inBerlin('daily 01:00-05:00')}`,
          },
        ],
      },
    })
    await putSite(0, daily)
    expect(await post({ plan_id: plan.plan_id })).toMatchObject({ status: 200, body: { id: plan.plan_id } })
  })

  it('are named by a request for one device and for one site, and checked', async () => {
    const { server, admin } = harness
    const [mac = ''] = macsOf(0)
    await putSite(0, nights)
    const call = (path: string, body: object) =>
      server.call('POST', `/sites/${siteId(0)}/devices${path}`, { body, as: admin })
    const device = `/00000000-0000-0000-1000-${mac}/upgrade`
    expect((await call(device, { version: NEW, maintenance_windows: [] })).status).toBe(200)
    expect((await call('/upgrade', { version: NEW, maintenance_windows: daily })).status).toBe(200)
    expect((await siteUpgrades()).map(({ plan }) => plan.windows)).toEqual([undefined, daily])
    const bad: [object[], string][] = [
      [[{ start: '22:00', end: '22:00' }], 'maintenance_windows.0.end'],
      [[{ start: '24:00', end: '22:00' }], 'maintenance_windows.0.start'],
      [[{ start: '9:00', end: '10:00' }], 'maintenance_windows.0.start'],
      [[{ days: ['someday'], start: '09:00', end: '10:00' }], 'maintenance_windows.0.days.0'],
    ]
    for (const [windows, field] of bad) {
      const detail = expect.stringContaining(`Invalid field ${field}: `)
      expect(await call('/upgrade', { maintenance_windows: windows })).toMatchObject({ status: 400, body: { detail } })
      expect(await putSite(0, windows)).toMatchObject({ status: 400 })
      expect(await putOrg(windows)).toMatchObject({ status: 400 })
    }
  })
})
