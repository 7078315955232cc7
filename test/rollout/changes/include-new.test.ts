import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { uuidv7 } from 'uuidv7'
import { inTx } from '../../../src/platform/database/db.ts'
import { noCapabilities } from '../../../src/devices/commands/capabilities.ts'
import { endUpgrades } from '../../../src/rollout/stops/end-upgrades.worker.ts'
import { stopSiteUpgrades } from '../../../src/rollout/stops/store.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { getUpgradeTarget } from '../../../src/upgrades/targets/store.ts'
import { readsOf, reportReads } from '../../support/database/reads.ts'
import { MODEL, NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { MIDDLE, seedHop } from '../hops/hop-images.ts'
import { afterRead, useJoining } from './joining.ts'

const { rollout, look, move, begin, countOfUpgrade, searches, targets } = useJoining()

describe('an upgrade with include_new', () => {
  it('takes in devices that are assigned to its site, come online or report another version, until it ends', async () => {
    await rollout.seed([3, 3])
    const [joins, current, away] = rollout.devices(1)
    if (joins === undefined || current === undefined || away === undefined) throw new Error('no devices')
    await rollout.fleet.connect([current], NEW)
    await rollout.fleet.disconnect([away])
    const { id, finish } = await begin()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, deferred: 1 })
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, deferred: 1 })
    await move([joins, current, away], 0)
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, deferred: 1, planned: 2 })
    const { steps } = await getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id, mac: joins.mac })
    expect(steps).toEqual([{ state: 'planned', at: rollout.clock.now(), reason: 'joined the upgrade' }])
    rollout.clock.advance(5000)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 3, deferred: 2 })
    // It has returned to its former version since.
    await rollout.fleet.connect([current], '1.0.0')
    await look()
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 4, deferred: 2 })
    const { message } = await rollout.ctx.db
      .selectFrom('auditLog')
      .select('message')
      .where('message', 'like', '%takes in%')
      .orderBy('id')
      .executeTakeFirstOrThrow()
    expect(message).toBe(`Upgrade ${id} takes in 2 further devices`)
    await rollout.fleet.connect([away])
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 6 })
    await look()
    expect(await searches(id)).toBe(false)
  })

  it('takes in no device after its end time', async () => {
    await rollout.seed([3, 1])
    const { id } = await begin({ end_time: rollout.clock.now().getTime() / 1000 + 600 })
    rollout.clock.advance(600_000)
    await move(rollout.devices(1), 0)
    // After an outage, the search may begin before the upgrade is stopped.
    await look()
    await endUpgrades(rollout.ctx)
    await look()
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, cancelled: 1 })
  })

  it('takes in devices although it ends within a minute', async () => {
    await rollout.seed([3, 1])
    const { id } = await begin({ end_time: rollout.clock.now().getTime() / 1000 + 30 })
    await move(rollout.devices(1), 0)
    rollout.clock.advance(16_000)
    await includeAll(rollout.ctx)
    expect(await countOfUpgrade(id)).toMatchObject({ planned: 1 })
  })

  it('no longer notes why it left out a device that it takes in', async () => {
    await rollout.seed([2, 1, 1])
    const [first] = rollout.devices(1)
    const [second] = rollout.devices(2)
    if (first === undefined || second === undefined) throw new Error('no devices')
    await rollout.fleet.disconnect([first, second])
    const [, ...elsewhere] = rollout.org.sites
    const earlier = await Promise.all(
      elsewhere.map((site) => rollout.create({ site_ids: [site.id], all_sites: false })),
    )
    await move([first, second], 0)
    const { id } = await begin()
    const noted = async () => (await rollout.read(id)).siteUpgrades.flatMap(({ notes }) => notes)
    const leftOut = ({ mac }: SeededDevice) => ({
      mac,
      kind: 'in_another_upgrade',
      reason: expect.stringMatching(/^in upgrade /),
    })
    expect(await noted()).toEqual(expect.arrayContaining([leftOut(first), leftOut(second)]))
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, earlier[0]?.id ?? '')
    await rollout.play()
    await rollout.fleet.connect([first])
    await look()
    expect(await noted()).toEqual([leftOut(second)])
  })

  it('notes which devices that it takes in can not do what it demands', async () => {
    const capabilities = {
      ...noCapabilities,
      commands: ['upgrade', 'restore_backup'] as const,
      backup_version: '1.0.0',
    }
    await rollout.seed([{ devices: 2, capabilities }, 1])
    const [joins] = rollout.devices(1)
    if (joins === undefined) throw new Error('no devices')
    const { id } = await begin({ rollback_on_failure: true })
    await move([joins], 0)
    await look()
    const { siteUpgrades } = await rollout.read(id)
    expect(siteUpgrades.flatMap(({ notes }) => notes)).toEqual([
      { mac: joins.mac, reason: "can't restore its backup version if it fails" },
    ])
  })

  it('notes how many of the devices that it takes in reboot more than once', async () => {
    await rollout.seed([1, 2])
    await seedHop(rollout, MODEL)
    const { id } = await begin()
    await move(rollout.devices(1), 0)
    await look()
    const path = `${MIDDLE}, then ${NEW}`
    expect((await rollout.read(id)).siteUpgrades.flatMap(({ notes }) => notes)).toEqual([
      { reason: `1 device reboots more than once: it installs ${path}` },
      { reason: `2 further devices reboot more than once: they install ${path}` },
    ])
  })

  it('takes in a device that had the version when it was planned, and has not any more, wherever it is', async () => {
    await rollout.seed([4, 2])
    const sites = rollout.org.sites.map((site) => site.id)
    const [, stays, moves, right] = rollout.devices(0)
    if (stays === undefined || moves === undefined || right === undefined) throw new Error('no devices')
    await rollout.fleet.connect([stays, moves, right], NEW)
    const { id, finish } = await begin({ site_ids: sites })
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, deferred: 1, skipped: 3 })
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, deferred: 1, skipped: 3 })
    await rollout.fleet.connect([stays, moves], '1.0.0')
    await move([moves], 1)
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 2, deferred: 1, planned: 2, skipped: 1 })
    const { siteUpgrades } = await rollout.read(id)
    expect(siteUpgrades.map(({ total }) => total)).toEqual([3, 3])
    await rollout.play()
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 5, skipped: 1 })
  })

  it('puts devices behind those that have joined before, also if its plan skipped them', async () => {
    await rollout.seed([4, 1])
    const [, , first, second] = rollout.devices(0)
    const [last] = rollout.devices(1)
    if (first === undefined || second === undefined || last === undefined) throw new Error('no devices')
    await rollout.fleet.connect([first, second], NEW)
    const { id } = await begin()
    for (const device of [second, first, last]) {
      await rollout.fleet.connect([device], '1.0.0')
      await move([device], 0)
      await look()
    }
    const places = await rollout.ctx.db
      .selectFrom('upgradeTarget')
      .select(['deviceId', 'ordinal'])
      .where('ordinal', '>', 2)
      .orderBy('ordinal')
      .execute()
    expect(places).toEqual([second, first, last].map((device, index) => ({ deviceId: device.id, ordinal: index + 3 })))
    expect(await countOfUpgrade(id)).toMatchObject({ planned: 3 })
  })

  it('takes in others beside a device that never connected, and whose target has ended', async () => {
    await rollout.seed([2, 1])
    const { id } = await begin()
    const [, ended] = rollout.devices(0)
    // The row of a status begins with the first connection.
    await rollout.ctx.db
      .deleteFrom('deviceStatus')
      .where('deviceId', '=', ended?.id ?? '')
      .execute()
    await move(rollout.devices(1), 0)
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, deferred: 1, planned: 1 })
  })

  it('looks at a few devices at a time, and at all of them in turn, and two workers take each of them in once', async () => {
    await rollout.seed([2, 7])
    const { id } = await begin()
    await move(rollout.devices(1), 0)
    for (let looks = 0; looks < 5; looks += 1) {
      rollout.clock.advance(61_000)
      await Promise.all([includeAll(rollout.ctx, 2), includeAll(rollout.ctx, 2)])
      await expectConsistent(rollout.ctx)
    }
    expect(await countOfUpgrade(id)).toMatchObject({ planned: 7 })
    expect(new Set((await targets(id)).map(({ deviceId }) => deviceId)).size).toBe(9)
  })

  it('keeps the position of the worker that has its lease, however late another one ends', async () => {
    await rollout.seed([2, 5])
    const { id } = await begin()
    await move(rollout.devices(1), 0)
    rollout.clock.advance(61_000)
    const { ctx } = rollout
    const position = () => ctx.db.selectFrom('orgUpgrade').select(['includeAfter', 'includeDueMs']).executeTakeFirst()
    let before: Awaited<ReturnType<typeof position>>
    /** Another worker gets the lease, and looks twice. */
    async function takeOver(): Promise<void> {
      rollout.clock.advance(61_000)
      await includeAll(ctx, 2)
      rollout.clock.advance(1000)
      await includeAll(ctx, 2)
      before = await position()
    }
    await includeAll({ ...ctx, db: ctx.db.withPlugin(afterRead('closed', takeOver)) }, 2)
    expect(before?.includeAfter).toBeTypeOf('string')
    expect(await position()).toEqual(before)
    rollout.clock.advance(1000)
    await includeAll(ctx)
    expect(await countOfUpgrade(id)).toMatchObject({ planned: 5 })
    await expectConsistent(ctx)
  })

  it('finds the sites of its targets by their keys, although they look few', async () => {
    const [devices, sites] = [60, 300]
    await rollout.seed([devices])
    await begin()
    const { db } = rollout.ctx
    // It goes on to look for devices, and has statistics from before it had that many sites.
    await sql`update site_upgrade set finished_at = null`.execute(db)
    for (const table of ['site_upgrade', 'upgrade_target', 'device_upgrade'])
      await sql`analyze ${sql.table(table)}`.execute(db)
    await sql`
      insert into site_upgrade select (jsonb_populate_record(part, jsonb_build_object('id',
        '00000000-0000-4000-8000-' || lpad(n::text, 12, '0')))).*
      from site_upgrade part, generate_series(2, ${sites}) n
    `.execute(db)
    await sql`update device_upgrade set upgrade_id = null`.execute(db)
    rollout.clock.advance(61_000)
    const reads = await readsOf(
      db,
      { tables: ['site_upgrade', 'device_status'], unit: 'tuples_returned' },
      async () => {
        await includeAll(rollout.ctx)
        await reportReads(db)
      },
    )
    // Connections also report what they read before. Each device with all sites would be more than twice as much.
    expect(reads).toBeLessThan((devices * sites) / 2)
  })

  it('puts them into the last phase, and continues a site that had ended', async () => {
    await rollout.seed([4, 4, 2])
    const sites = rollout.org.sites.slice(0, 2).map((site) => site.id)
    const { id, finish } = await begin({ site_ids: sites, strategy: 'canary', canary_phases: [60] })
    await move(rollout.devices(2).slice(0, 1), 0)
    await move(rollout.devices(2).slice(1), 1)
    const before = new Set((await targets(id)).map(({ deviceId }) => deviceId))
    await look()
    const joined = (await targets(id)).filter(({ deviceId }) => !before.has(deviceId))
    expect(joined.map(({ phase }) => phase)).toEqual([2, 2])
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 10 })
    expect((await rollout.read(id)).siteUpgrades.map(({ status }) => status)).toEqual(['completed', 'completed'])
  })

  it('upgrades them one after the other where the strategy is serial', async () => {
    await rollout.seed([2, 2])
    const { id, finish } = await begin({ strategy: 'serial' })
    await move(rollout.devices(1), 0)
    await look()
    expect((await targets(id)).map(({ phase }) => phase)).toEqual([1, 2, 3, 4])
    await rollout.advance()
    await rollout.advance()
    expect(await countOfUpgrade(id)).toMatchObject({ dl_requested: 1, planned: 1 })
    await rollout.play()
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 4 })
  })

  it('leaves devices of other upgrades until these end, and takes in none once it was cancelled', async () => {
    await rollout.seed([2, 2])
    const { id } = await begin()
    const other = await rollout.create({ site_ids: [rollout.org.sites[1]?.id ?? ''], all_sites: false })
    await move(rollout.devices(1), 0)
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, deferred: 1 })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.advance()
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, deferred: 1, planned: 2 })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await rollout.play()
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, cancelled: 3 })
  })

  it('takes in none at a site that a person cancelled too late, and at others as long as it runs after a retry', async () => {
    await rollout.seed([2, 2, 2])
    const sites = rollout.org.sites.slice(0, 2).map((site) => site.id)
    const { id, finish } = await begin({ site_ids: sites })
    const { siteUpgrades } = await rollout.read(id)
    const ended = siteUpgrades.find(({ siteId }) => siteId === sites[1])
    await inTx(rollout.ctx, (tx) =>
      stopSiteUpgrades(tx, rollout.org.scope, id, {
        ...{ becomes: 'cancelled', reason: 'cancelled by a person', only: [ended?.id ?? ''] },
        ...{ at: rollout.clock.now(), nowMs: rollout.ctx.serviceClock.nowMs() },
      }),
    )
    const [one, other] = rollout.devices(2)
    if (one === undefined || other === undefined) throw new Error('no devices')
    await move([one], 1)
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 3, deferred: 1 })
    rollout.clock.advance(73 * 3600e3)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 3, failed: 1 })
    await look()
    await move([other], 0)
    await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 3, planned: 2 })
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 5 })
  })

  it('looks for further devices if a retry continues it at the moment when its search ends', async () => {
    await rollout.seed([2, 1])
    const { id } = await begin()
    rollout.clock.advance(73 * 3600e3)
    await rollout.play()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, failed: 1 })
    const { ctx } = rollout
    const retry = () => retryOrgUpgrade(ctx, rollout.org.scope, { id, macs: null })
    await includeAll({ ...ctx, db: ctx.db.withPlugin(afterRead('closed', retry)) })
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, planned: 1 })
    await move(rollout.devices(1), 0)
    await look()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, planned: 2 })
  })

  it('restarts them in the order of their site, together with those that have not ended', async () => {
    await rollout.seed([2, { devices: 2, type: 'switch' }])
    const { id, finish } = await begin()
    await move(rollout.devices(1), 0)
    await look()
    // The access point that is absent still has a turn.
    expect((await targets(id)).map(({ rank }) => String(rank)).toSorted()).toEqual(['1', '2', '2', 'null'])
    await rollout.fleet.connect(rollout.devices(0).slice(0, 1))
    await rollout.advance()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 1, dl_requested: 1, planned: 2 })
    await finish()
    expect(await countOfUpgrade(id)).toEqual({ upgraded: 4 })
  })

  it('puts them into the last phase of the downloads, also where its site had no device in one', async () => {
    const capabilities = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
    const switches = { type: 'switch', model: 'EX4100', capabilities } as const
    await rollout.seed([2, { devices: 2, ...switches }, { devices: 1, ...switches }])
    const sites = rollout.org.sites.slice(0, 2).map((site) => site.id)
    const { id } = await begin({ site_ids: sites, download_strategy: 'canary', canary_phases: [50] })
    await move(rollout.devices(2), 0)
    await look()
    const joined = (await targets(id)).filter(({ deviceId }) => deviceId === rollout.devices(2)[0]?.id)
    expect(joined.map(({ downloadPhase }) => downloadPhase)).toEqual([2])
  })

  it('gives them the version of the others, though the label means another one by now', async () => {
    await rollout.seed([2, 1])
    const { id } = await begin({ version: 'latest' })
    const { orgId } = rollout.org.scope
    const createdAt = rollout.clock.now()
    const imageId = uuidv7()
    const image = { orgId, id: imageId, sha256: imageId, sizeBytes: '1000', createdAt }
    await rollout.ctx.db.insertInto('firmwareImage').values(image).execute()
    const line = { orgId, model: MODEL, version: '3.0.0', imageId, tag: null, createdAt }
    await rollout.ctx.db.insertInto('firmwareVersion').values(line).execute()
    await move(rollout.devices(1), 0)
    await look()
    expect((await targets(id)).map(({ targetVersion }) => targetVersion)).toEqual([NEW, NEW, NEW])
  })
})
