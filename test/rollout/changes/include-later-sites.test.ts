import { describe, expect, it, onTestFinished } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { anyOf, json } from '../../../src/platform/database/db.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { useJoining } from './joining.ts'

const { rollout, look, begin, countOfUpgrade, targets } = useJoining()

async function place(devices: readonly SeededDevice[], siteId: string | null): Promise<void> {
  const ids = devices.map(({ id }) => id)
  await rollout.ctx.db.updateTable('device').set({ siteId }).where('id', '=', anyOf(ids)).execute()
}

/** Creates a site, and assigns the devices to it. */
async function createSite(devices: readonly SeededDevice[]): Promise<void> {
  const at = rollout.clock.now()
  const { orgId } = rollout.org.scope
  const rest = { timezone: 'Europe/Berlin', doc: documentText({}), createdAt: at, modifiedAt: at }
  const site = { orgId, id: uuidv7(), name: 'Later', ...rest }
  await rollout.ctx.db.insertInto('site').values(site).execute()
  await place(devices, site.id)
}

/** An upgrade of all sites, after which sites are created, with the devices that were at none. */
async function beginBefore(body: OrgUpgradeBody, sites: readonly { readonly devices: readonly SeededDevice[] }[]) {
  await place(
    sites.flatMap(({ devices }) => devices),
    null,
  )
  const begun = await begin({ all_sites: true, ...body })
  for (const { devices } of sites) await createSite(devices)
  return begun
}

describe('an upgrade of all sites with include_new', () => {
  it('takes in devices of sites that are created after it, in its phases', async () => {
    await rollout.seed([4, 3])
    const [one, other, third] = rollout.devices(1)
    if (one === undefined || other === undefined || third === undefined) throw new Error('no devices')
    const canary = { strategy: 'canary', canary_phases: [50] }
    const { id, finish } = await beginBefore(canary, [{ devices: [one, other] }, { devices: [] }, { devices: [third] }])
    await Promise.all([look(), includeAll(rollout.ctx)])
    const { siteUpgrades } = await rollout.read(id)
    expect(siteUpgrades.map(({ total, notes }) => [total, notes])).toEqual([
      [4, []],
      [0, []],
      [2, [{ reason: 'The site was created after the upgrade' }]],
      [1, [{ reason: 'The site was created after the upgrade' }]],
    ])
    const joined = (await targets(id)).filter(({ deviceId }) =>
      rollout.devices(1).some((device) => device.id === deviceId),
    )
    expect(joined.map(({ phase }) => phase)).toEqual([2, 2, 2])
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 7 })
    await look()
    expect((await rollout.read(id)).siteUpgrades).toHaveLength(4)
  })

  it('lets each of their devices wait for the start on the clocks of the site', async () => {
    await rollout.seed([2, 1])
    const [joins] = rollout.devices(1)
    if (joins === undefined) throw new Error('no device')
    const later = new Date(rollout.clock.now().getTime() + 24 * 3600e3).toISOString().slice(0, 10)
    const windows = [{ start: '03:00', end: '05:00' }]
    const times = { start_datetime: `${later}T03:00:00`, maintenance_windows: windows }
    const { id } = await beginBefore({ ...times, strategy: 'serial' }, [{ devices: [joins] }])
    await look()
    const { startAt, plan } = await rollout.ctx.db
      .selectFrom('siteUpgrade')
      .select(['startAt', 'plan'])
      .where('orgUpgradeId', '=', id)
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    const clocks = new Intl.DateTimeFormat('sv', { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' })
    expect([clocks.format(startAt), plan]).toMatchObject([
      `${later} 03:00`,
      { timezone: 'Europe/Berlin', phases: 1, windows },
    ])
    await rollout.advance()
    expect(await countOfUpgrade(id)).toMatchObject({ planned: 3 })
  })

  it('notes at such a site which device it could not take in', async () => {
    await rollout.seed([2, 1])
    const [failing] = rollout.devices(1)
    if (failing === undefined) throw new Error('no device')
    const { id } = await beginBefore({}, [{ devices: [failing] }])
    const reports = (capabilities: unknown) =>
      rollout.ctx.db
        .updateTable('deviceStatus')
        .set({ capabilities: json(capabilities) as never })
        .where('deviceId', '=', failing.id)
        .execute()
    await reports({ commands: null })
    const noted = async () => (await rollout.read(id)).siteUpgrades.flatMap((part) => part.notes)
    const later = { reason: 'The site was created after the upgrade' }
    const reason = 'could not be taken in: an internal error'
    const heard: string[] = []
    onTestFinished(rollout.ctx.wakes.on('changes', (hints) => void heard.push(...hints)))
    await look()
    const part = (await rollout.read(id)).siteUpgrades.at(-1)?.id
    const { orgId } = rollout.org.scope
    expect(heard).toEqual([`site_upgrade ${orgId} ${part}`, `upgrade ${orgId} ${id}`])
    expect(await noted()).toEqual([later, { mac: failing.mac, reason }])
    await look()
    expect(await noted()).toEqual([later, { mac: failing.mac, reason }])
    await reports(failing.capabilities)
    await look()
    expect([await noted(), await countOfUpgrade(id)]).toEqual([[later], { upgraded: 1, deferred: 1, planned: 1 }])
  })

  it('records a device that it awaited and that needs nothing at such a site where it awaited it', async () => {
    await rollout.seed([2])
    const [right, unable] = rollout.devices(0)
    if (right === undefined || unable === undefined) throw new Error('no devices')
    const other = await rollout.create()
    const { id } = await rollout.create({ include_new: true })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.advance()
    await rollout.fleet.connect([right], NEW)
    const reason = 'has no room for an image'
    const capabilities = json({ ...unable.capabilities, commands: [], refusals: { upgrade: reason } })
    await rollout.ctx.db.updateTable('deviceStatus').set({ capabilities }).where('deviceId', '=', unable.id).execute()
    await createSite([right, unable])
    await look()
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([
      { awaited: 0, total: 1, notes: [{ mac: unable.mac, reason }] },
    ])
    expect(await countOfUpgrade(id)).toEqual({ skipped: 1 })
  })

  it('takes in none of them where the request names its sites', async () => {
    await rollout.seed([2, 1])
    const [homeless] = rollout.devices(1)
    if (homeless === undefined) throw new Error('no device')
    const { id } = await beginBefore({ all_sites: false }, [{ devices: [homeless] }])
    await look()
    expect((await rollout.read(id)).siteUpgrades).toHaveLength(1)
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, deferred: 1 })
  })
})
