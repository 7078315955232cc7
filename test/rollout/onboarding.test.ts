import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { systemSiteScope } from '../../src/access/scope.ts'
import { updateSetting } from '../../src/orgs/org-settings/update-setting.ts'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import { upgradeNewDevices } from '../../src/upgrades/automatic/onboarding.worker.ts'
import { listNewDevices } from '../../src/upgrades/automatic/store-onboarding.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { NEW, OLD } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { useRollout } from './harness.ts'

const rollout = useRollout()
const EX = 'EX4100'
const HOUR_MS = 3600e3

function scopeOf(site: number) {
  const { scope, sites } = rollout.org
  return systemSiteScope('operator', { orgId: scope.orgId, siteId: sites[site]?.id ?? '' })
}

const setOrg = (setting: Readonly<Record<string, unknown>>) => updateSetting(rollout.ctx, rollout.org.scope, setting)
const setSite = (site: number, setting: Readonly<Record<string, unknown>>) =>
  updateSiteSetting(rollout.ctx, scopeOf(site), setting)
const look = () => upgradeNewDevices(rollout.ctx)

const onlyEx = { switch: { auto_upgrade: { enabled: true, custom_versions: { [EX]: NEW } } } }

const ofSsr = { ssr: { auto_upgrade: { enabled: true, channel: 'beta' } } }

/** In the order of their creation. */
async function upgrades() {
  const rows = rollout.ctx.db
    .selectFrom('siteUpgrade as part')
    .innerJoin('orgUpgrade as whole', 'whole.id', 'part.orgUpgradeId')
  return rows
    .select(['part.siteId', 'part.status', 'part.total', 'part.notes', 'whole.kind', 'whole.targetVersion'])
    .select('whole.notes as reasons')
    .orderBy('part.id')
    .execute()
}

function device(site: number, place = 0) {
  const found = rollout.devices(site)[place]
  if (found === undefined) throw new Error('no such device')
  return found
}

/** Creates a site, where the first device connects. @returns Its id. */
async function moveToNewSite(): Promise<string> {
  const { ctx, org, fleet } = rollout
  const at = ctx.clock.now()
  const site = { orgId: org.scope.orgId, id: randomUUID(), name: 'New', timezone: 'UTC', doc: documentText({}) }
  await ctx.db
    .insertInto('site')
    .values({ ...site, createdAt: at, modifiedAt: at })
    .execute()
  await ctx.db.updateTable('device').set({ siteId: site.id }).where('id', '=', device(0).id).execute()
  await fleet.connect([device(0)])
  return site.id
}

describe('a switch that connects for the first time', () => {
  beforeEach(async () => {
    const one = { devices: 2, type: 'switch', model: EX } as const
    await rollout.seed([one, one, { devices: 1 }], { online: false })
    // The sites are older than the settings.
    rollout.clock.advance(HOUR_MS)
  })

  it('is upgraded once, as the setting demands', async () => {
    await setOrg(onlyEx)
    await look()
    await rollout.fleet.connect([device(0), device(2)])
    await Promise.all([look(), look()])
    const reason = 'Begun by switch.auto_upgrade in the settings of the site or its organization'
    expect(await upgrades()).toMatchObject([
      { siteId: scopeOf(0).siteId, status: 'queued', total: 1, targetVersion: NEW, reasons: [{ reason }] },
    ])
    await rollout.play()
    await look()
    expect(await upgrades()).toMatchObject([{ status: 'completed' }])
    await expectConsistent(rollout.ctx)
    // A person lowers it, and it stays so.
    await rollout.fleet.connect([device(0)], OLD)
    await look()
    expect(await upgrades()).toHaveLength(1)
    // Another one is new at a site that has the setting already.
    await rollout.fleet.connect([device(0, 1)])
    await look()
    expect(await upgrades()).toHaveLength(2)
  })

  it('is not upgraded if it has connected before the setting was there', async () => {
    await rollout.fleet.connect([device(0), device(1)])
    await setSite(0, onlyEx)
    await look()
    await look()
    await setSite(1, onlyEx)
    await look()
    await look()
    expect(await upgrades()).toEqual([])
    await rollout.fleet.connect([device(0, 1)])
    await look()
    expect(await upgrades()).toMatchObject([{ siteId: scopeOf(0).siteId, total: 1 }])
  })

  it.each([
    { days: 7, total: 1 },
    // The first one may have been prepared for the site.
    { days: 6, total: 2 },
  ])(
    'is upgraded beside one that was connected elsewhere $days days after its claim: together $total',
    async ({ days, total }) => {
      rollout.clock.advance(days * 24 * HOUR_MS)
      await setSite(1, onlyEx)
      await look()
      await rollout.fleet.connect([device(0)])
      await look()
      const moveAll = (ids: readonly string[]) =>
        rollout.ctx.db
          .updateTable('device')
          .set({ siteId: scopeOf(1).siteId })
          .where('id', 'in', ids)
          .execute()
      // The second one has never been connected.
      await moveAll([device(0).id, device(0, 1).id])
      await rollout.fleet.connect([device(0), device(0, 1)])
      await look()
      await look()
      expect(await upgrades()).toMatchObject([{ siteId: scopeOf(1).siteId, total }])
    },
  )

  it('is not upgraded if its site had only another of these settings before', async () => {
    await setOrg(ofSsr)
    await look()
    await rollout.fleet.connect([device(0)])
    await look()
    await setOrg({ ...ofSsr, ...onlyEx })
    await look()
    await look()
    expect(await upgrades()).toEqual([])
  })

  it('is upgraded at a site that is new, unlike the setting', async () => {
    await setOrg(onlyEx)
    await look()
    const siteId = await moveToNewSite()
    await look()
    await look()
    expect(await upgrades()).toMatchObject([{ siteId, total: 1 }])
  })

  it('is upgraded at a site that is new, and that gets the setting a little later than the device', async () => {
    await setSite(1, onlyEx)
    await look()
    const siteId = await moveToNewSite()
    await look()
    await updateSiteSetting(rollout.ctx, systemSiteScope('operator', { orgId: scopeOf(0).orgId, siteId }), onlyEx)
    await look()
    await look()
    expect(await upgrades()).toMatchObject([{ siteId, total: 1 }])
  })

  it('is upgraded although another process upgrades its neighbor at the same moment', async () => {
    await setOrg(onlyEx)
    await look()
    await rollout.fleet.connect([device(0), device(0, 1)])
    let looking: Promise<unknown> = Promise.resolve()
    await rollout.ctx.db.transaction().execute(async (tx) => {
      const { orgId } = rollout.org.scope
      await tx
        .insertInto('onboardedDevice')
        .values({ orgId, deviceId: device(0).id })
        .execute()
      looking = look()
      await untilWaiting(rollout, 1)
    })
    await looking
    await look()
    expect(await upgrades()).toMatchObject([{ siteId: scopeOf(0).siteId, total: 1 }])
  })

  it('is not upgraded by a setting with impossible values, which was stored before they were checked', async () => {
    await setOrg({ switch: { auto_upgrade: { enabled: true, version: 5, custom_versions: [NEW] } } })
    await look()
    await rollout.fleet.connect([device(0)])
    await look()
    await setOrg(onlyEx)
    await look()
    expect(await upgrades()).toEqual([])
  })

  it('is upgraded by a setting whose other fields are null, as without them', async () => {
    const versions = { version: null, custom_versions: { [EX]: NEW }, snapshot: null }
    await setOrg({ switch: { auto_upgrade: { enabled: true, ...versions } } })
    await setSite(1, { switch: null })
    await look()
    await rollout.fleet.connect([device(0), device(1)])
    await look()
    expect(await upgrades()).toMatchObject([{ siteId: scopeOf(0).siteId, total: 1, targetVersion: NEW }])
  })

  it('is not upgraded if it has connected while the setting was turned off', async () => {
    await setSite(0, onlyEx)
    await look()
    await setSite(0, { switch: { auto_upgrade: { enabled: false } } })
    await look()
    await rollout.fleet.connect([device(0)])
    await look()
    await setSite(0, onlyEx)
    await look()
    await look()
    expect(await upgrades()).toEqual([])
  })

  it('follows the field of its site, which replaces that of the organization as a whole', async () => {
    await setOrg(onlyEx)
    await setSite(1, { switch: { networks: {} } })
    await look()
    await rollout.fleet.connect([device(0), device(1)])
    await look()
    expect((await upgrades()).map(({ siteId }) => siteId)).toEqual([scopeOf(0).siteId])
  })

  it('has a record with the reason if it can not be upgraded, and none if it runs the version', async () => {
    await setOrg({ switch: { auto_upgrade: { enabled: true, version: '9.9', snapshot: true } } })
    await look()
    await rollout.fleet.connect([device(0)])
    await look()
    const notes = [{ mac: device(0).mac, reason: `no firmware 9.9 for model ${EX}` }]
    expect(await upgrades()).toMatchObject([{ status: 'completed', total: 0, notes }])
    await setOrg(onlyEx)
    await rollout.fleet.connect([device(1)], NEW)
    await look()
    await look()
    expect(await upgrades()).toHaveLength(1)
    const done = rollout.ctx.db.selectFrom('onboardedDevice').select('deviceId')
    expect((await done.execute()).map(({ deviceId }) => deviceId).toSorted()).toEqual(
      [device(0).id, device(1).id].toSorted(),
    )
  })
})

it('gateways follow the settings of their kind', async () => {
  const seed = (model: string) => ({ devices: 1, type: 'gateway', model }) as const
  await rollout.seed([seed('Gateway-1'), seed('SRX345'), seed('SSR120')], { online: false })
  await rollout.ctx.db.updateTable('firmwareVersion').set({ tag: 'beta' }).where('version', '=', NEW).execute()
  await setOrg({
    juniper_srx: { auto_upgrade: { enabled: true, version: NEW, snapshot: true } },
    ...ofSsr,
  })
  await look()
  await rollout.fleet.connect(rollout.devices())
  // Gateways of other kinds have no place in the limit.
  expect(await listNewDevices(rollout.ctx.db, 1)).toMatchObject([{ deviceIds: [device(1).id] }])
  await look()
  expect(await upgrades()).toMatchObject([
    { siteId: scopeOf(1).siteId, kind: 'device', total: 1, targetVersion: NEW },
    { siteId: scopeOf(2).siteId, kind: 'ssr', total: 1, targetVersion: NEW },
  ])
})
