// Random settings of automatic upgrades, and devices that come and go, some for the first time, against a simple oracle: with the real
// engine and database.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { systemSiteScope } from '../../src/access/scope.ts'
import { assignDevices, unassignDevices } from '../../src/devices/inventory/assign-devices.ts'
import { updateSetting } from '../../src/orgs/org-settings/update-setting.ts'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import type { AutoUpgrade } from '../../src/orgs/windows/auto-upgrade.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { endUpgrades } from '../../src/rollout/stops/end-upgrades.worker.ts'
import { beginAutoUpgrades } from '../../src/upgrades/automatic/auto-upgrade.worker.ts'
import type { Onboarding } from '../../src/upgrades/automatic/onboarding.ts'
import { upgradeNewDevices } from '../../src/upgrades/automatic/onboarding.worker.ts'
import { getAutoUpgrade } from '../../src/upgrades/automatic/get-auto-upgrade.ts'
import { stockCapabilities } from '../support/fleets/devices.ts'
import { MODEL, NEW, OLD } from '../support/fleets/fleet.ts'
import { type Box, type Place, type World, expectLook, expectNew, localTime, ruleOf } from './automatic-oracle.ts'
import { expectConsistent } from './expect-consistent.ts'
import { randomRuns } from '../support/random-runs.ts'
import { useRollout } from './harness.ts'

/** Each run commits some hundred transactions. */
const RUNS = randomRuns(1)
const rollout = useRollout()
const OTHER = 'AP41'
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SWITCH = 'EX4100'
/** The places of the switches in the list of devices. */
const SWITCHES = [6, 7, 8]
const zones = ['UTC', 'Asia/Kathmandu', 'Pacific/Honolulu'] as const
/** The site of this place has a maintenance window, daily. */
const WINDOW_AT = 2
const windowS = { start: '05:00', end: '06:30' }

const versions = fc.constantFrom(NEW, NEW, OLD, 'stable', 'beta', '9.9')
const on: fc.Arbitrary<AutoUpgrade> = fc.record(
  {
    enabled: fc.constant(true),
    version: fc.constantFrom('stable', 'stable', 'stable', 'custom', 'beta'),
    custom_versions: fc.dictionary(fc.constantFrom(MODEL, OTHER), versions),
    day_of_week: fc.constantFrom('any', 'any', 'any', 'sun', 'tue'),
    time_of_day: fc.constantFrom('any', '', '00:00', '05:10', '13:37'),
  },
  { requiredKeys: ['enabled'] },
)
const ofNew: fc.Arbitrary<Onboarding> = fc.record(
  {
    enabled: fc.constantFrom(true, true, true, false),
    version: fc.constantFrom(NEW, OLD, 'stable', 'beta'),
    custom_versions: fc.dictionary(fc.constantFrom(SWITCH, OTHER), versions),
    snapshot: fc.boolean(),
  },
  { requiredKeys: ['enabled', 'version'] },
)
const site = fc.nat(3)
const DEVICES = 9
const device = fc.nat(DEVICES - 1)
/** `isClaimed`: just now. */
const arrivals = fc.record({
  does: fc.constant('arrive' as const),
  device: fc.constantFrom(...SWITCHES),
  site,
  isClaimed: fc.boolean(),
})
const changes = fc.oneof(
  { weight: 1, arbitrary: fc.record({ does: fc.constant('set org' as const), rule: fc.option(on) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('set site' as const), site, rule: fc.option(on) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('turn on or off' as const), site }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('zone' as const), site, zone: fc.constantFrom(...zones) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('label' as const), version: fc.constantFrom(NEW, OLD) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('set org for new' as const), newRule: fc.option(ofNew) }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('set site for new' as const), site, newRule: fc.option(ofNew) }),
  },
  { weight: 2, arbitrary: arrivals },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('switch' as const), device }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('move' as const), device, site: fc.nat(4) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('install' as const),
      some: fc.subarray(Array.from({ length: DEVICES }, (_, at) => at)),
      version: fc.constantFrom(NEW, OLD, OLD),
    }),
  },
)
/** `off`: a site whose settings are turned off meanwhile. `untilDue`: from the next time of a site. The service may be down. */
const waits = fc.record({
  off: fc.option(site, { freq: 2 }),
  arrival: fc.option(arrivals, { freq: 2 }),
  untilDue: fc.constantFrom(true, true, true, false),
  minutes: fc.constantFrom(0, 0.5, 20, 59, 62),
})
const steps = fc.array(fc.tuple(fc.array(changes, { maxLength: 3, size: 'max' }), waits), {
  minLength: 12,
  maxLength: 12,
  size: 'max',
})
type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never
/** Only around waits. */
interface Turn {
  readonly does: 'turn on or off for new'
  readonly site: number
}
type Wait = typeof waits extends fc.Arbitrary<infer T> ? T : never

const nowMs = () => rollout.clock.now().getTime()
const scopeOf = (siteId: string) => systemSiteScope('operator', { orgId: rollout.org.scope.orgId, siteId })

/** The upgrades that have begun since the last call. */
async function listBegun(world: World): Promise<Map<string, Record<string, string>>> {
  const { db } = rollout.ctx
  const parts = await db.selectFrom('siteUpgrade').select(['id', 'siteId']).execute()
  const targets = await db
    .selectFrom('upgradeTarget')
    .select(['upgradeId', 'deviceId', 'targetVersion', 'state'])
    .execute()
  const fresh = parts.filter(({ id }) => !world.begun.has(id))
  for (const { id } of fresh) world.begun.add(id)
  return new Map(
    fresh.map(({ id, siteId }) => {
      const mine = targets.filter(({ upgradeId, state }) => upgradeId === id && state !== 'skipped')
      return [siteId, Object.fromEntries(mine.map(({ deviceId, targetVersion }) => [deviceId, targetVersion]))]
    }),
  )
}

async function listBusy(): Promise<ReadonlySet<string>> {
  const { db } = rollout.ctx
  const assigned = db.selectFrom('deviceUpgrade').select('deviceId').where('upgradeId', 'is not', null)
  return new Set((await assigned.execute()).map(({ deviceId }) => deviceId))
}

async function look(world: World): Promise<void> {
  await endUpgrades(rollout.ctx)
  await run(world)
  const expected = expectLook(world, { busy: await listBusy(), nowMs: nowMs() })
  await beginAutoUpgrades(rollout.ctx)
  expect(await listBegun(world)).toEqual(expected)
  const ofNewDevices = expectNew(world, { busy: await listBusy(), nowMs: nowMs() })
  await upgradeNewDevices(rollout.ctx)
  expect(await listBegun(world)).toEqual(ofNewDevices)
  for (const place of world.places) {
    const { nextAt } = await getAutoUpgrade(rollout.ctx, scopeOf(place.id))
    expect(nextAt?.getTime() ?? null).toBe(ruleOf(world, place) === null ? null : place.dueMs)
  }
  await run(world)
}

/** Lets the engine and the devices work until nothing is sent any more. */
async function run(world: World): Promise<void> {
  const { db } = rollout.ctx
  const unfinished = db.selectFrom('siteUpgrade').select('id').where('finishedAt', 'is', null).limit(1)
  if ((await unfinished.execute()).length === 0) return
  for (let quiet = 0; quiet < 2;) {
    await rollout.advance()
    const sent: string[] = []
    let active = false
    await rollout.fleet.answer(({ id }, _, { kind }) => {
      active = true
      if (kind !== 'snapshot') sent.push(id)
      return 'does'
    })
    quiet = active ? 0 : quiet + 1
    for (const id of sent) {
      const box = world.boxes.find(({ seeded }) => seeded.id === id)
      const found = db
        .selectFrom('deviceUpgrade as current')
        .innerJoin('upgradeTarget as target', (join) =>
          join.onRef('target.upgradeId', '=', 'current.upgradeId').onRef('target.deviceId', '=', 'current.deviceId'),
        )
        .innerJoin('siteUpgrade as part', 'part.id', 'current.upgradeId')
        .select(['target.targetVersion', 'part.siteId'])
        .where('current.deviceId', '=', id)
      const { targetVersion, siteId } = await found.executeTakeFirstOrThrow()
      const place = world.places.find((one) => one.id === siteId)
      if (box === undefined || place === undefined) throw new Error('an unknown device has a command')
      // No device is commanded twice, or out of the window. One that has moved stays in its upgrade.
      expect(box).toMatchObject({ online: true })
      expect(box.version).not.toBe(targetVersion)
      const [, local = ''] = localTime(place.zone, nowMs()).split(' ')
      if (place === world.places[WINDOW_AT]) expect(local >= windowS.start && local < windowS.end).toBe(true)
      await install(box, targetVersion)
    }
    rollout.clock.advance(1000)
  }
  await rollout.advance()
}

async function install(box: Box | undefined, version: string): Promise<void> {
  if (box?.online !== true) return
  box.version = version
  await rollout.fleet.disconnect([box.seeded])
  await rollout.fleet.connect([box.seeded], version)
}

async function perform(world: World, step: Change | Turn): Promise<void> {
  const { ctx, org, fleet } = rollout
  const place = 'site' in step ? world.places[step.site] : undefined
  const box = 'device' in step ? world.boxes[step.device] : undefined
  const setSite = (rule: AutoUpgrade | null) => {
    if (place === undefined) return Promise.resolve()
    place.rule = rule
    const change = rule === null ? { '-auto_upgrade': '' } : { auto_upgrade: rule }
    return updateSiteSetting(ctx, scopeOf(place.id), change)
  }
  const setNew = async (newRule: Onboarding | null) => {
    if (place === undefined) return
    place.newRule = newRule
    await updateSiteSetting(ctx, scopeOf(place.id), ofSwitches(newRule))
  }
  switch (step.does) {
    case 'set org':
      world.org = step.rule
      return void (await updateSetting(
        ctx,
        org.scope,
        step.rule === null ? { '-auto_upgrade': '' } : { auto_upgrade: step.rule },
      ))
    case 'set site':
      return void (await setSite(step.rule))
    case 'turn on or off':
      return void (await setSite({ ...place?.rule, enabled: place?.rule?.enabled !== true }))
    case 'set org for new':
      world.newOrg = step.newRule
      return void (await updateSetting(ctx, org.scope, ofSwitches(step.newRule)))
    case 'set site for new':
      return setNew(step.newRule)
    case 'turn on or off for new':
      return setNew({ version: NEW, ...place?.newRule, enabled: place?.newRule?.enabled !== true })
    case 'arrive':
      if (box === undefined || place === undefined) return
      return arrive(world, box, { siteId: place.id, isClaimed: step.isClaimed })
    case 'zone':
      if (place === undefined) return
      place.zone = step.zone
      return void (await ctx.db.updateTable('site').set({ timezone: step.zone }).where('id', '=', place.id).execute())
    case 'label':
      world.stable = step.version
      await ctx.db.updateTable('firmwareVersion').set({ tag: null }).execute()
      return void (await ctx.db
        .updateTable('firmwareVersion')
        .set({ tag: 'stable' })
        .where('version', '=', step.version)
        .execute())
    case 'switch':
      if (box === undefined) return
      box.online = !box.online
      box.hasConnected ||= box.online
      return box.online ? fleet.connect([box.seeded], box.version) : fleet.disconnect([box.seeded])
    case 'move':
      if (box === undefined) return
      return move(box, place?.id ?? null)
    case 'install':
      for (const at of step.some) await install(world.boxes[at], step.version)
      return
  }
}

const ofSwitches = (rule: Onboarding | null) => (rule === null ? { '-switch': '' } : { switch: { auto_upgrade: rule } })

interface Arrival {
  readonly siteId: string
  readonly isClaimed: boolean
}

/** A switch connects at another site. One that is claimed has what a release of it leaves. */
async function arrive({ known }: World, box: Box, { siteId, isClaimed }: Arrival): Promise<void> {
  const { db, clock } = rollout.ctx
  const { id } = box.seeded
  if (box.online) await rollout.fleet.disconnect([box.seeded])
  if (isClaimed) {
    await db.deleteFrom('onboardedDevice').where('deviceId', '=', id).execute()
    await db.updateTable('device').set({ createdAt: clock.now() }).where('id', '=', id).execute()
    known.delete(box)
    box.claimedMs = nowMs()
  }
  await move(box, siteId)
  await rollout.fleet.connect([box.seeded], box.version)
  Object.assign(box, { online: true, hasConnected: true })
}

async function move(box: Box, siteId: string | null): Promise<void> {
  const { ctx, org } = rollout
  const names = { macs: [box.seeded.mac], serials: [] }
  const to = { names, at: ctx.clock.now(), noReassign: false, settings: {} }
  await inTx(ctx, async (tx) => {
    await (siteId === null ? unassignDevices(tx, org.scope, to) : assignDevices(tx, org.scope, { ...to, siteId }))
  })
  box.siteId = siteId
}

/** A site whose setting is turned off has a time, too: the setting may be turned on again then. */
function wait({ places }: World, { off, untilDue, minutes }: Wait): void {
  const times = (off === null ? places : places.slice(off, off + 1))
    .map(({ dueMs }) => dueMs)
    .filter((dueMs) => dueMs > nowMs())
  const toDueMs = untilDue && times.length > 0 ? Math.min(...times) - nowMs() : 0
  rollout.clock.advance(toDueMs + minutes * MINUTE_MS)
}

async function createWorld(): Promise<World> {
  const one = { model: MODEL }
  const stock = stockCapabilities('switch')
  const capabilities = { ...stock, commands: [...stock.commands, 'snapshot' as const] }
  const seeds = [
    { devices: 3, ...one },
    { devices: 2, model: OTHER },
    { devices: 1, ...one },
    { devices: SWITCHES.length, model: SWITCH, type: 'switch' as const, capabilities },
  ]
  const devices = await rollout.seed(seeds, { online: false })
  const aps = devices.filter(({ type }) => type === 'ap')
  await rollout.fleet.connect(aps)
  await rollout.ctx.db.updateTable('firmwareVersion').set({ tag: 'stable' }).where('version', '=', NEW).execute()
  const { sites } = rollout.org
  const places = sites.map(({ id }): Place => {
    return { id, zone: 'UTC', rule: null, newRule: null, seen: null, dueMs: 0 }
  })
  const windowed = places[WINDOW_AT]?.id ?? ''
  await updateSiteSetting(rollout.ctx, scopeOf(windowed), { maintenance_windows: [windowS] })
  const boxes = sites.flatMap(({ id: siteId, devices: some }) =>
    some.map((seeded): Box => {
      const isUp = aps.includes(seeded)
      return { seeded, siteId, online: isUp, hasConnected: isUp, version: OLD, claimedMs: nowMs() }
    }),
  )
  // A setting of a site that was just created is not new.
  rollout.clock.advance(HOUR_MS)
  const fresh = { begun: new Set<string>(), hadNewRule: new Set<string>(), known: new Set<Box>() }
  const world = { places, boxes, org: null, newOrg: null, stable: NEW, ...fresh }
  await listBegun(world)
  return world
}

/** Turns a setting off before a wait, and on after it. */
async function turn(world: World, { off }: Wait): Promise<void> {
  if (off === null) return
  for (const does of ['turn on or off', 'turn on or off for new'] as const) await perform(world, { does, site: off })
  await look(world)
}

it('upgrades each device when its setting demands it, and no other one', async () => {
  for (const some of fc.sample(steps, RUNS)) {
    const world = await createWorld()
    const done: unknown[] = []
    try {
      for (const step of some) {
        done.push(step)
        const [changed, waited] = step
        for (const change of changed) await perform(world, change)
        // The setting may be seen before its time comes.
        await look(world)
        await turn(world, waited)
        if (waited.arrival !== null) await perform(world, waited.arrival)
        wait(world, waited)
        await look(world)
        await turn(world, waited)
      }
      await expectConsistent(rollout.ctx)
      await rollout.ctx.db.deleteFrom('orgSetting').execute()
      await rollout.ctx.db.deleteFrom('siteSetting').execute()
    } catch (error) {
      throw new Error(`After ${JSON.stringify(done.slice(-4))} at ${rollout.clock.now().toISOString()}`, {
        cause: error,
      })
    }
  }
})
