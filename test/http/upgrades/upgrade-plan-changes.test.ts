import { describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { deviceIdOf } from '../../../src/devices/device.ts'
import { noCapabilities } from '../../../src/devices/commands/capabilities.ts'
import { json } from '../../../src/platform/database/db.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { stockCapabilities } from '../../support/fleets/devices.ts'
import { MODEL, NEW, OLD } from '../../support/fleets/fleet.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post, macsOf, siteId } = harness

const db = () => harness.server.ctx.db
const orgId = () => harness.admin.orgId
const soon = () => Math.floor(Date.now() / 1000) + 3600

/** An access point of the first site. */
const ap = (index = 0): string => macsOf(0)[index] ?? ''
const call = (method: 'POST' | 'PUT', path: string, body?: object) =>
  harness.server.call(method, path, { as: harness.admin, ...(body && { body }) })

const runs = (mac: string, firmware: string) =>
  db().updateTable('deviceStatus').set({ firmware }).where('deviceId', '=', deviceIdOf(mac)).execute()
const change = (mac: string, set: { readonly siteId?: string | null; readonly name?: string }) =>
  db().updateTable('device').set(set).where('id', '=', deviceIdOf(mac)).execute()
const remove = (mac: string) => db().deleteFrom('device').where('id', '=', deviceIdOf(mac)).execute()
/** Sets why the firmware of a device can't be upgraded; null if it can. */
const setRefusal = (mac: string, refusal: string | null) => {
  const can = refusal === null ? stockCapabilities() : { ...noCapabilities, refusals: { upgrade: refusal } }
  const set = { capabilities: json(can) }
  return db().updateTable('deviceStatus').set(set).where('deviceId', '=', deviceIdOf(mac)).execute()
}

/** Claims a further access point at the first site. @returns Its MAC. */
async function claim(firmware: string): Promise<string> {
  const mac = uuidv7().slice(-12)
  const createdAt = new Date()
  const known = { mac, model: MODEL, type: 'ap' as const, serial: mac, claimCode: mac, orgId: orgId(), createdAt }
  const claimed = { ...known, id: deviceIdOf(mac), siteId: siteId(0), doc: documentText({}), modifiedAt: createdAt }
  await db()
    .insertInto('deviceRegistry')
    .values({ ...known, id: deviceIdOf(mac) })
    .execute()
  await db().insertInto('device').values(claimed).execute()
  const status = { orgId: orgId(), deviceId: deviceIdOf(mac), capabilities: json(stockCapabilities()), firmware }
  await db().insertInto('deviceStatus').values(status).execute()
  return mac
}

/** Adds a version for access points. */
async function addVersion(version: string, more: { readonly tag?: string } = {}): Promise<void> {
  const createdAt = new Date()
  const imageId = uuidv7()
  const image = { orgId: orgId(), id: imageId, sha256: imageId, sizeBytes: '1000', createdAt }
  await db().insertInto('firmwareImage').values(image).execute()
  const entry = { orgId: orgId(), model: MODEL, version, imageId, tag: null, createdAt, ...more }
  await db().insertInto('firmwareVersion').values(entry).execute()
}
const updateVersion = (
  version: string,
  set: { readonly minVersion?: string; readonly reported?: never; readonly tag?: string | null },
) =>
  db()
    .updateTable('firmwareVersion')
    .set(set)
    .where('orgId', '=', orgId())
    .where('model', '=', MODEL)
    .where('version', '=', version)
    .execute()
const deleteVersion = (version: string, model?: string) => {
  const query = db().deleteFrom('firmwareVersion').where('orgId', '=', orgId()).where('version', '=', version)
  return (model === undefined ? query : query.where('model', '=', model)).execute()
}

/** Upgrades a device by itself. */
async function upgradeOne(mac: string, body: object = {}): Promise<void> {
  const path = `/sites/${siteId(0)}/devices/${deviceIdOf(mac)}/upgrade`
  const answer = await call('POST', path, { version: NEW, start_time: soon(), ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
}
/** Releases a device from the upgrade that has it. */
const release = (mac: string) =>
  db().updateTable('deviceUpgrade').set({ upgradeId: null }).where('deviceId', '=', deviceIdOf(mac)).execute()

const daily = [{ start: '01:00', end: '05:00' }]
const setting = (path: string, windows: unknown) => call('PUT', `${path}/setting`, { maintenance_windows: windows })
const timezone = (zone: string) =>
  db().updateTable('site').set({ timezone: zone }).where('id', '=', siteId(0)).execute()

interface Row {
  readonly body?: object | (() => object)
  /** What is so before the plan. */
  readonly given?: () => Promise<unknown>
  /** @returns The MAC of a device that it made. */
  readonly since: () => Promise<unknown>
  /** None: the plan is carried out. */
  readonly differs?: (made: unknown) => readonly (readonly [string, string])[]
}

const FULL = 'Its flash is full'
const NOT_PLANNED = 'is not in the plan'
const impossible = (reason: string) => `can't be upgraded any more: ${reason}`
const GONE = impossible('it is not selected')
const BUSY = expect.stringMatching(/^can't be upgraded any more: in upgrade \S+$/)
const rules = [{ 'match_name[0:2]': 'AP' }]

const fleet: Record<string, Row> = {
  nothing: { since: async () => undefined },
  'a connection is lost': {
    since: () => db().updateTable('deviceStatus').set({ connected: false }).where('orgId', '=', orgId()).execute(),
  },
  'a device has another version': {
    since: () => runs(ap(), '1.5.0'),
    differs: () => [[ap(), `runs 1.5.0, not ${OLD}`]],
  },
  'a device has got the version by itself': {
    since: () => runs(ap(), NEW),
    differs: () => [[ap(), `runs ${NEW}, not ${OLD}`]],
  },
  'a device was deleted': { since: () => remove(ap()), differs: () => [[ap(), GONE]] },
  'a device has left its site': { since: () => change(ap(), { siteId: null }), differs: () => [[ap(), GONE]] },
  'a device is at another site of the upgrade': {
    since: () => change(ap(), { siteId: siteId(1) }),
    differs: () => [[ap(), `is at the site ${siteId(1)}, not at ${siteId(0)}`]],
  },
  'a device is new': { since: () => claim(OLD), differs: (made) => [[String(made), NOT_PLANNED]] },
  'a device is new that has the version': { since: () => claim(NEW) },
  'a device has another name': { since: () => change(ap(), { name: 'Lobby' }) },
  'a device no longer matches a rule': {
    body: { rules },
    given: () => Promise.all([change(ap(0), { name: 'AP-1' }), change(ap(1), { name: 'AP-2' })]),
    since: () => change(ap(0), { name: 'Lobby' }),
    differs: () => [[ap(0), GONE]],
  },
  'a further device matches a rule': {
    body: { rules },
    given: () => change(ap(0), { name: 'AP-1' }),
    since: () => change(ap(1), { name: 'AP-2' }),
    differs: () => [[ap(1), NOT_PLANNED]],
  },
  'a device can no longer be upgraded': {
    since: () => setRefusal(ap(), FULL),
    differs: () => [[ap(), impossible(FULL)]],
  },
  'a device can be upgraded now': {
    given: () => setRefusal(ap(), FULL),
    since: () => setRefusal(ap(), null),
    differs: () => [[ap(), NOT_PLANNED]],
  },
  'a device that was left out is gone': { given: () => setRefusal(ap(), FULL), since: () => remove(ap()) },
  'a device that was left out has the version': { given: () => setRefusal(ap(), FULL), since: () => runs(ap(), NEW) },
  'a device that had the version is gone': { given: () => runs(ap(), NEW), since: () => remove(ap()) },
  'a device that had the version has another one': {
    given: () => runs(ap(), NEW),
    since: () => runs(ap(), OLD),
    differs: () => [[ap(), `runs ${OLD}, not ${NEW}`]],
  },
  'a device that had the version has another one, and can not be upgraded': {
    given: () => runs(ap(), NEW),
    since: async () => [await runs(ap(), OLD), await setRefusal(ap(), FULL)],
    differs: () => [[ap(), impossible(FULL)]],
  },
}

const images: Record<string, Row> = {
  'a later version is there, and the plan has the latest one': {
    body: { version: 'latest' },
    since: () => addVersion('3.0.0'),
    differs: () => macsOf(0).map((mac) => [mac, `would get 3.0.0, not ${NEW}`]),
  },
  'a later version is there, and the plan has this one': { since: () => addVersion('3.0.0') },
  'a later version is there, and is a trial': {
    body: { version: 'latest' },
    since: () => addVersion('3.0.0', { tag: 'beta' }),
  },
  'a label has moved to another version': {
    body: { version: 'stable' },
    given: () => updateVersion(NEW, { tag: 'stable' }),
    since: async () => [await updateVersion(NEW, { tag: null }), await addVersion('3.0.0', { tag: 'stable' })],
    differs: () => macsOf(0).map((mac) => [mac, `would get 3.0.0, not ${NEW}`]),
  },
  'the version has another image': {
    since: async () => [await deleteVersion(NEW, MODEL), await addVersion(NEW)],
    differs: () => macsOf(0).map((mac) => [mac, `would get another image of ${NEW}`]),
  },
  'the version was deleted for a model': {
    since: () => deleteVersion(NEW, MODEL),
    differs: () => macsOf(0).map((mac) => [mac, impossible(`no firmware ${NEW} for model ${MODEL}`)]),
  },
  'the version demands a later one first, which is there': {
    since: async () => [await addVersion('1.5.0'), await updateVersion(NEW, { minVersion: '1.5.0' })],
    differs: () => macsOf(0).map((mac) => [mac, `would go to ${NEW} over 1.5.0, not to ${NEW} directly`]),
  },
  'the version demands a later one first, which is missing': {
    since: () => updateVersion(NEW, { minVersion: '1.5.0' }),
    differs: () =>
      macsOf(0).map((mac) => [mac, expect.stringMatching(/^can't be upgraded any more: runs 1\.0\.0, but/)]),
  },
  'devices report the version by what they report': {
    since: () => updateVersion(NEW, { reported: json([OLD]) as never }),
    differs: () => macsOf(0).map((mac) => [mac, `runs ${NEW}, not ${OLD}`]),
  },
}

const others: Record<string, Row> = {
  'another upgrade has got a device': { since: () => upgradeOne(ap()), differs: () => [[ap(), BUSY]] },
  'another upgrade has got a device that is to be taken over': {
    body: { supersede: true },
    since: () => upgradeOne(ap()),
  },
  'another upgrade has got a device that can not be taken over': {
    body: { supersede: true },
    given: () => upgradeOne(ap()),
    since: () => db().updateTable('upgradeTarget').set({ state: 'downloading' }).where('orgId', '=', orgId()).execute(),
    differs: () => [[ap(), expect.stringMatching(/: in upgrade \S+, which has begun with it$/)]],
  },
  'another upgrade has released a device': {
    given: () => upgradeOne(ap()),
    since: () => release(ap()),
    differs: () => [[ap(), NOT_PLANNED]],
  },
  'another upgrade has released a device that is to be taken over': {
    body: { supersede: true },
    given: () => upgradeOne(ap()),
    since: () => release(ap()),
  },
  'another upgrade has given a device the version': {
    given: () => upgradeOne(ap()),
    since: async () => [await release(ap()), await runs(ap(), NEW)],
  },
  'another upgrade is to change a device that has the version': {
    given: () => runs(ap(), NEW),
    since: () => upgradeOne(ap(), { version: OLD }),
    differs: () => [[ap(), BUSY]],
  },
  'another upgrade has devices of other sites': {
    body: () => ({ all_sites: false, site_ids: [siteId(1)] }),
    since: () => upgradeOne(ap()),
  },
}

const has = (windows: string, not: string) => `has ${windows}, not ${not}`
const DAILY = 'the maintenance windows daily 01:00-05:00'
const BERLIN = `${DAILY} (Europe/Berlin)`
const TOKYO = `${DAILY} (Asia/Tokyo)`
const NONE = 'no maintenance window'
const times: Record<string, Row> = {
  'the organization has windows': {
    since: () => setting(`/orgs/${orgId()}`, daily),
    differs: () => [
      [siteId(0), has(BERLIN, NONE)],
      [siteId(1), has(TOKYO, NONE)],
    ],
  },
  'a site has windows': {
    since: () => setting(`/sites/${siteId(0)}`, daily),
    differs: () => [[siteId(0), has(BERLIN, NONE)]],
  },
  'a site has no windows any more': {
    given: () => setting(`/sites/${siteId(0)}`, daily),
    since: () => setting(`/sites/${siteId(0)}`, []),
    differs: () => [[siteId(0), has(NONE, BERLIN)]],
  },
  'a site has windows, and the plan its own': {
    body: { maintenance_windows: daily },
    since: () => setting(`/sites/${siteId(0)}`, [{ start: '02:00', end: '06:00' }]),
  },
  'a site where nothing is to be done has windows': {
    given: () => Promise.all(macsOf(0).map((mac) => runs(mac, NEW))),
    since: () => setting(`/sites/${siteId(0)}`, daily),
  },
  'a site that is not in the upgrade has windows': {
    body: () => ({ all_sites: false, site_ids: [siteId(1)] }),
    since: () => setting(`/sites/${siteId(0)}`, daily),
  },
  'a site has windows that are too short': {
    since: () => setting(`/sites/${siteId(0)}`, [{ start: '01:00', end: '01:05' }]),
    differs: () =>
      macsOf(0).map((mac) => [mac, expect.stringContaining('no maintenance window of its site has more than')]),
  },
  'the clocks of a site are others, and it starts at once': { since: () => timezone('Asia/Tokyo') },
  'the clocks of a site are others, and it starts by them': {
    body: { start_datetime: '2036-06-13T15:00:00' },
    since: () => timezone('Asia/Tokyo'),
    differs: () => [[siteId(0), 'would start at 2036-06-13T06:00:00.000Z, not at 2036-06-13T13:00:00.000Z']],
  },
  'the clocks of a site are others, and it reboots by them': {
    body: { reboot_datetime: '2036-06-13T15:00:00' },
    since: () => timezone('Asia/Tokyo'),
    differs: () => [[siteId(0), 'would reboot at 2036-06-13T06:00:00.000Z, not at 2036-06-13T13:00:00.000Z']],
  },
  'the clocks of a site are others, and it starts at an instant': {
    body: { start_datetime: '2036-06-13T15:00:00Z' },
    since: () => timezone('Asia/Tokyo'),
  },
  'the clocks of a site are others, and it has windows': {
    given: () => setting(`/sites/${siteId(0)}`, daily),
    since: () => timezone('Asia/Tokyo'),
    differs: () => [[siteId(0), has(TOKYO, BERLIN)]],
  },
}

const rows = Object.entries({ ...fleet, ...images, ...others, ...times })

describe('a plan is carried out, or a 409 names what differs, if since its preview', () => {
  it.each(rows)('%s', async (_, { body = {}, given, since, differs }) => {
    await given?.()
    const request = { all_sites: true, version: NEW, ...(typeof body === 'function' ? body() : body) }
    const plan = await post({ ...request, dry_run: true })
    expect(plan.status).toBe(200)
    const made = await since()
    const answer = await post({ plan_id: plan.body.plan_id })
    if (differs === undefined) {
      expect([answer.status, answer.body.differences]).toEqual([200, undefined])
      expect(answer.body).toMatchObject({ id: plan.body.plan_id })
      return
    }
    const differences = answer.body.differences?.map(({ mac, site_id: site, reason }: AnyJson) => [mac ?? site, reason])
    expect([answer.status, differences]).toEqual([409, differs(made)])
  })
})

it.each([
  [NEW, `there is no firmware ${NEW} in the catalog`],
  ['stable', `no firmware stable for model ${MODEL}`],
])(
  'a plan for the version %s is a 400 that names it if it was deleted for all models since',
  async (version, named) => {
    await updateVersion(NEW, { tag: 'stable' })
    const plan = await post({ all_sites: true, version, dry_run: true })
    expect(plan.status).toBe(200)
    await deleteVersion(NEW)
    const answer = await post({ plan_id: plan.body.plan_id })
    expect([answer.status, answer.body.detail]).toEqual([
      400,
      expect.stringContaining(`Invalid field version: ${named}`),
    ])
  },
)
