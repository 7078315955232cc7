import { describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import type { DeviceCapabilities } from '../../../src/devices/tables.ts'
import { json } from '../../../src/platform/database/db.ts'
import type { UpgradeNote } from '../../../src/rollout/rollout.ts'
import { getUpgradeTarget } from '../../../src/upgrades/targets/store.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { MODEL, NEW } from '../../support/fleets/fleet.ts'
import { afterRead, useJoining } from './joining.ts'

const { rollout, look, move, countOfUpgrade, searches, targets } = useJoining()

/** The number of devices that the record of an upgrade says it awaits. */
async function awaited(id: string): Promise<number> {
  return (await rollout.read(id)).siteUpgrades.reduce((sum, site) => sum + site.awaited, 0)
}

describe('an upgrade that awaits devices of others', () => {
  it.each<OrgUpgradeBody>([
    { strategy: 'canary', canary_phases: [50], phase_scope: 'site' },
    { strategy: 'canary', canary_phases: [50], phase_scope: 'org' },
    { strategy: 'serial' },
    { strategy: 'big_bang' },
  ])('waits for the devices of another upgrade if that one has them all: %o', async (strategy) => {
    await rollout.seed([2])
    const sites = { site_ids: rollout.org.sites.map((site) => site.id), all_sites: false }
    const other = await rollout.create(sites)
    const { id } = await rollout.create({ ...sites, include_new: true, ...strategy })
    await look()
    expect([await countOfUpgrade(id), await awaited(id)]).toEqual([{}, 2])
    // Those that don't search await none, whatever their notes name.
    expect(await awaited((await rollout.create({ ...sites, ...strategy })).id)).toBe(0)
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.advance()
    await look()
    expect(await countOfUpgrade(id)).toEqual({ planned: 2 })
    expect((await targets(id)).every(({ phase }) => phase > 0)).toBe(true)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2 })
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([{ status: 'completed', notes: [] }])
    await look()
    expect(await searches(id)).toBe(false)
  })

  it.each([
    ['approval', 'approval'],
    ['pause', 'gate'],
  ] as const)('that has got none before lets them wait for the %s that its first phase demands', async (wait, by) => {
    await rollout.seed([2])
    const { ctx, org } = rollout
    const other = await rollout.create()
    const phase_gates = [{ phase: 1, wait_for: wait }]
    const { id } = await rollout.create({ include_new: true, strategy: 'canary', canary_phases: [50], phase_gates })
    await cancelOrgUpgrade(ctx, org.scope, other.id)
    await rollout.advance()
    await look()
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ planned: 2 })
    const reason = expect.stringMatching(/^phase 1 has no devices/) as string
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([{ status: 'queued', hold: { by, reason } }])
    if (wait === 'approval') await approveOrgUpgrade(ctx, org.scope, { id, phase: 1, note: null })
    else await resumeOrgUpgrade(ctx, org.scope, id)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2 })
  })

  it('waits for devices of other upgrades after it has ended with its own, until it has looked at them or is cancelled', async () => {
    await rollout.seed([2, 3])
    const [, own] = rollout.devices(0)
    const [away, leaves, upgrades] = rollout.devices(1)
    if (own === undefined || away === undefined || leaves === undefined || upgrades === undefined)
      throw new Error('no devices')
    await rollout.fleet.disconnect([away, leaves])
    const [first, second] = rollout.org.sites.map((site) => site.id)
    const other = await rollout.create({ site_ids: [second ?? ''], all_sites: false })
    await move([own, away, leaves, upgrades], 0)
    const request = { site_ids: [first ?? ''], all_sites: false, include_new: true }
    const { id } = await rollout.create(request)
    const cancelled = await rollout.create(request)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2 })
    expect(await awaited(cancelled.id)).toBe(5)
    for (let time = 0; time < 2; time += 1) await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, cancelled.id)
    expect((await rollout.read(cancelled.id)).siteUpgrades).toMatchObject([{ status: 'completed' }])
    const records = rollout.ctx.db.selectFrom('auditLog').select('message').where('message', 'like', 'Cancel%')
    expect(await records.execute()).toEqual([
      { message: `Cancel the search of upgrade ${cancelled.id} for further devices` },
    ])
    await look()
    expect([await searches(id), await searches(cancelled.id)]).toEqual([true, false])
    expect([await awaited(id), await awaited(cancelled.id)]).toEqual([2, 0])
    // The other upgrade has upgraded one of them, and another one is at none of its sites any more.
    const noted = async () => (await rollout.read(id)).siteUpgrades.flatMap(({ notes }) => notes.map(({ mac }) => mac))
    expect(new Set(await noted())).toEqual(new Set([away.mac, leaves.mac]))
    await move([leaves], 1)
    await rollout.fleet.connect([away])
    rollout.clock.advance(5000)
    await rollout.play()
    await look()
    expect([await noted(), await awaited(id)]).toEqual([[leaves.mac], 0])
    await look()
    expect(await searches(id)).toBe(false)
    expect(await countOfUpgrade(other.id)).toMatchObject({ upgraded: 2 })
    // It has skipped those that the other upgrade has upgraded at its site.
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, skipped: 2 })
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([{ status: 'completed', total: 4 }])
    const { steps } = await getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id, mac: away.mac })
    expect(steps).toMatchObject([{ state: 'skipped' }])
    expect(steps[0]?.at.getTime()).toBeGreaterThan(rollout.clock.now().getTime() - 120_000)
  })

  it('notes why a device that it awaited can not be upgraded, and takes it in once it can', async () => {
    await rollout.seed([2])
    const [device, absent] = rollout.devices(0)
    if (device === undefined || absent === undefined) throw new Error('no devices')
    const sites = { site_ids: rollout.org.sites.map((site) => site.id), all_sites: false }
    await rollout.fleet.disconnect([absent])
    const other = await rollout.create({ ...sites, models: [device.model] })
    const { id } = await rollout.create({ ...sites, include_new: true })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.advance()
    const reports = (capabilities: DeviceCapabilities) =>
      rollout.ctx.db
        .updateTable('deviceStatus')
        .set({ capabilities: json(capabilities) })
        .where('deviceId', '=', device.id)
        .execute()
    const reason = 'has no room for an image'
    await reports({ ...device.capabilities, commands: [], refusals: { upgrade: reason } })
    await look()
    const notes = async () => (await rollout.read(id)).siteUpgrades.flatMap((site) => site.notes)
    expect([await countOfUpgrade(id), await notes()]).toEqual([{ planned: 1 }, [{ mac: device.mac, reason }]])
    await reports(device.capabilities)
    await look()
    expect([await countOfUpgrade(id), await notes()]).toEqual([{ planned: 2 }, []])
  })

  it('goes on to await a device whose image is deleted in the moment in which it would join', async () => {
    await rollout.seed([1])
    const { ctx, org } = rollout
    const sites = { site_ids: org.sites.map((site) => site.id), all_sites: false }
    const other = await rollout.create(sites)
    const { id } = await rollout.create({ ...sites, include_new: true })
    await cancelOrgUpgrade(ctx, org.scope, other.id)
    await rollout.advance()
    rollout.clock.advance(61_000)
    const deleteImages = () => ctx.db.deleteFrom('firmwareImage').where('orgId', '=', org.scope.orgId).execute()
    await includeAll({ ...ctx, db: ctx.db.withPlugin(afterRead('capabilities', deleteImages)) })
    expect([await countOfUpgrade(id), await awaited(id)]).toEqual([{}, 1])
    await look()
    const { mac } = rollout.devices(0)[0] ?? {}
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([
      { awaited: 0, notes: [{ mac, reason: 'no firmware latest for model AP45' }] },
    ])
  })

  it('leaves a device out for which the version of the upgrade was deleted after its end', async () => {
    await rollout.seed([1, 1])
    const { ctx, org } = rollout
    const [first = '', second = ''] = org.sites.map((site) => site.id)
    const other = await rollout.create({ site_ids: [second], all_sites: false })
    await move(rollout.devices(1), 0)
    const { id } = await rollout.create({ site_ids: [first], all_sites: false, include_new: true })
    await cancelOrgUpgrade(ctx, org.scope, other.id)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1 })
    const { orgId } = org.scope
    const image = { orgId, id: uuidv7(), sha256: 'another', sizeBytes: '1', createdAt: ctx.clock.now() }
    await ctx.db.deleteFrom('firmwareImage').where('orgId', '=', orgId).execute()
    await ctx.db.insertInto('firmwareImage').values(image).execute()
    const version = { orgId, model: MODEL, version: '3.0.0', imageId: image.id, tag: null, createdAt: image.createdAt }
    await ctx.db.insertInto('firmwareVersion').values(version).execute()
    await look()
    const { mac } = rollout.devices(1)[0] ?? {}
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([
      { awaited: 0, notes: [{ mac, reason: `firmware ${NEW} for model ${MODEL} was deleted` }] },
    ])
    await look()
    expect(await searches(id)).toBe(false)
  })

  it('takes in none after its failures have stopped it, also at sites where it has had none', async () => {
    await rollout.seed([1, 1])
    const sites = { site_ids: rollout.org.sites.map((site) => site.id), all_sites: false }
    const other = await rollout.create({ ...sites, site_ids: sites.site_ids.slice(1) })
    const canary = { strategy: 'canary', canary_phases: [50], max_failure_percentage: 0 }
    const { id } = await rollout.create({ ...sites, ...canary, include_new: true })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.play(() => 'refuses_content')
    await look()
    expect([await countOfUpgrade(id), await awaited(id), await searches(id)]).toEqual([{ failed: 1 }, 0, false])
  })

  it('awaits devices by what their notes say of another upgrade, and not by their texts', async () => {
    await rollout.seed([1])
    const sites = { site_ids: rollout.org.sites.map((site) => site.id), all_sites: false }
    await rollout.create(sites)
    const [{ id }, other] = [
      await rollout.create({ ...sites, include_new: true }),
      await rollout.create({ ...sites, include_new: true }),
    ]
    const note = (upgradeId: string, values: Partial<UpgradeNote>) =>
      rollout.ctx.db
        .updateTable('siteUpgrade')
        .set({ notes: json([{ mac: rollout.devices(0)[0]?.mac ?? '', reason: '', ...values }]) })
        .where('orgUpgradeId', '=', upgradeId)
        .execute()
    await note(id, { kind: 'in_another_upgrade', reason: 'busy' })
    await note(other.id, { reason: 'in another upgrade' })
    await look()
    expect([await searches(id), await searches(other.id)]).toEqual([true, false])
  })

  it('no longer waits for a device that has joined it at another of its sites', async () => {
    await rollout.seed([1, 1])
    const [first, second] = rollout.org.sites.map((site) => site.id)
    const other = await rollout.create({ site_ids: [first ?? ''], all_sites: false })
    const { id } = await rollout.create({ site_ids: [first ?? '', second ?? ''], all_sites: false, include_new: true })
    await move(rollout.devices(0), 1)
    expect(await awaited(id)).toBe(1)
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.advance()
    await look()
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2 })
    await look()
    expect((await rollout.read(id)).siteUpgrades.flatMap(({ notes }) => notes)).toEqual([])
    expect(await searches(id)).toBe(false)
  })
})
