// Random settings of automatic upgrades, and devices that come and go, against a simple oracle: with the real engine and database.
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { systemSiteScope } from '../../src/access/scope.ts'
import { updateSetting } from '../../src/orgs/org-settings/update-setting.ts'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import type { AutoUpgrade } from '../../src/orgs/windows/auto-upgrade.ts'
import { endUpgrades } from '../../src/rollout/stops/end-upgrades.worker.ts'
import { beginAutoUpgrades } from '../../src/upgrades/automatic/auto-upgrade.worker.ts'
import { getAutoUpgrade } from '../../src/upgrades/automatic/get-auto-upgrade.ts'
import { MODEL, NEW, OLD, type SeededDevice } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { useRollout } from './harness.ts'

vi.setConfig({ testTimeout: 300_000 })

/** They take some seconds; SIGNALBOX_TEST_RUNS tries more. */
const DEFAULT_RUNS = 1
const rollout = useRollout()
const OTHER = 'AP41'
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
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
const site = fc.nat(2)
const device = fc.nat(6)
const changes = fc.oneof(
  { weight: 1, arbitrary: fc.record({ does: fc.constant('set org' as const), rule: fc.option(on) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('set site' as const), site, rule: fc.option(on) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('turn on or off' as const), site }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('zone' as const), site, zone: fc.constantFrom(...zones) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('label' as const), version: fc.constantFrom(NEW, OLD) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('switch' as const), device }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('move' as const), device, site: fc.nat(3) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('install' as const),
      some: fc.subarray([0, 1, 2, 3, 4, 5, 6]),
      version: fc.constantFrom(NEW, OLD, OLD),
    }),
  },
)
/** `untilDue`: from the next time of a site. The service may be down meanwhile. */
const waits = fc.record({
  untilDue: fc.constantFrom(true, true, true, false),
  minutes: fc.constantFrom(0, 0.5, 20, 59, 62),
})
const steps = fc.array(fc.tuple(fc.array(changes, { maxLength: 3, size: 'max' }), waits), {
  minLength: 20,
  maxLength: 20,
  size: 'max',
})
type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never
type Wait = typeof waits extends fc.Arbitrary<infer T> ? T : never

interface Place {
  readonly id: string
  zone: string
  rule: AutoUpgrade | null
  /** The setting and the zone of the last look; null: it was turned off. */
  seen: string | null
  dueMs: number
}

interface Box {
  readonly seeded: SeededDevice
  siteId: string | null
  online: boolean
  version: string
}

/** All that the oracle knows. */
interface World {
  readonly places: readonly Place[]
  readonly boxes: readonly Box[]
  org: AutoUpgrade | null
  stable: string
  /** The site upgrades that have begun. */
  readonly begun: Set<string>
}

const nowMs = () => rollout.clock.now().getTime()
const scopeOf = (siteId: string) => systemSiteScope('operator', { orgId: rollout.org.scope.orgId, siteId })

/** The clock of a zone: `Sun 05:10`. */
function localTime(zone: string, atMs: number): string {
  const options = { timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const parts = new Intl.DateTimeFormat('en-US', options).formatToParts(atMs)
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? ''
  return `${of('weekday').toLowerCase()} ${of('hour')}:${of('minute')}`
}

/** Looks at minute after minute. */
function nextTimeMs(
  { day_of_week: day = 'any', time_of_day: time = 'any' }: AutoUpgrade,
  zone: string,
  afterMs: number,
) {
  const clock = time === 'any' || time === '' ? '02:00' : time
  for (let atMs = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS; ; atMs += MINUTE_MS) {
    const [weekday, local] = localTime(zone, atMs).split(' ')
    if (local === clock && (day === 'any' || day === weekday)) return atMs
  }
}

function ruleOf({ org }: World, place: Place): AutoUpgrade | null {
  const rule = place.rule ?? org
  return rule?.enabled === true ? rule : null
}

/** The version that the device must get; null: it keeps its own. */
function versionFor({ seeded, version: present }: Box, rule: AutoUpgrade, stable: string): string | null {
  if (seeded.type !== 'ap') return null
  const named = rule.custom_versions?.[seeded.model]
  const wanted = named ?? (rule.version === 'custom' ? '9.9' : (rule.version ?? 'stable'))
  // The catalog has neither a beta nor 9.9.
  if (wanted === 'beta' || wanted === '9.9') return null
  const version = wanted === 'stable' ? stable : wanted
  // A label never lowers one, and texts of these versions are in their order.
  return version === present || (wanted === 'stable' && present > version) ? null : version
}

/** What the next look must begin: by site, the versions of devices. It changes the oracle as the look changes the service. */
function expectLook(world: World, busy: ReadonlySet<string>): Map<string, Record<string, string>> {
  const expected = new Map<string, Record<string, string>>()
  for (const place of world.places) {
    const rule = ruleOf(world, place)
    const seen = rule && JSON.stringify([rule, place.zone])
    const isSeen = seen === place.seen
    place.seen = seen
    if (rule === null) continue
    if (!isSeen) place.dueMs = nextTimeMs(rule, place.zone, nowMs() - MINUTE_MS)
    if (!isSeen || place.dueMs > nowMs()) continue
    const isLate = nowMs() - place.dueMs > HOUR_MS
    place.dueMs = nextTimeMs(rule, place.zone, nowMs())
    if (isLate) continue
    const here = world.boxes.filter((box) => box.siteId === place.id && box.online && !busy.has(box.seeded.id))
    const due = here.flatMap((box) => {
      const version = versionFor(box, rule, world.stable)
      return version === null ? [] : [[box.seeded.id, version] as const]
    })
    if (due.length > 0) expected.set(place.id, Object.fromEntries(due))
  }
  return expected
}

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

async function look(world: World): Promise<void> {
  await endUpgrades(rollout.ctx)
  await run(world)
  const assigned = rollout.ctx.db.selectFrom('deviceUpgrade').select('deviceId').where('upgradeId', 'is not', null)
  const busy = new Set((await assigned.execute()).map(({ deviceId }) => deviceId))
  const expected = expectLook(world, busy)
  await beginAutoUpgrades(rollout.ctx)
  expect(await listBegun(world)).toEqual(expected)
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
    await rollout.fleet.answer(({ id }) => {
      sent.push(id)
      return 'does'
    })
    quiet = sent.length === 0 ? quiet + 1 : 0
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
      // No device is commanded twice, elsewhere, or out of the window.
      expect(box).toMatchObject({ online: true, siteId })
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

async function perform(world: World, step: Change): Promise<void> {
  const { ctx, org, fleet } = rollout
  const place = 'site' in step ? world.places[step.site] : undefined
  const box = 'device' in step ? world.boxes[step.device] : undefined
  const setSite = (rule: AutoUpgrade | null) => {
    if (place === undefined) return Promise.resolve()
    place.rule = rule
    const change = rule === null ? { '-auto_upgrade': '' } : { auto_upgrade: rule }
    return updateSiteSetting(ctx, scopeOf(place.id), change)
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
      return box.online ? fleet.connect([box.seeded], box.version) : fleet.disconnect([box.seeded])
    case 'move':
      if (box === undefined) return
      box.siteId = place?.id ?? null
      return void (await ctx.db
        .updateTable('device')
        .set({ siteId: box.siteId })
        .where('id', '=', box.seeded.id)
        .execute())
    case 'install':
      for (const at of step.some) await install(world.boxes[at], step.version)
      return
  }
}

/** A site whose setting is turned off has a time, too: the setting may be turned on again then. */
function wait({ places }: World, { untilDue, minutes }: Wait): void {
  const times = places.map(({ dueMs }) => dueMs).filter((dueMs) => dueMs > nowMs())
  const toDueMs = untilDue && times.length > 0 ? Math.min(...times) - nowMs() : 0
  rollout.clock.advance(toDueMs + minutes * MINUTE_MS)
}

async function createWorld(): Promise<World> {
  const one = { model: MODEL }
  await rollout.seed([
    { devices: 3, ...one },
    { devices: 2, model: OTHER },
    { devices: 1, ...one },
    { devices: 1, ...one, type: 'switch' },
  ])
  await rollout.ctx.db.updateTable('firmwareVersion').set({ tag: 'stable' }).where('version', '=', NEW).execute()
  const { sites } = rollout.org
  const places = sites.slice(0, zones.length).map(({ id }): Place => {
    return { id, zone: 'UTC', rule: null, seen: null, dueMs: 0 }
  })
  const windowed = places[WINDOW_AT]?.id ?? ''
  await updateSiteSetting(rollout.ctx, scopeOf(windowed), { maintenance_windows: [windowS] })
  const boxes = sites.flatMap(({ id, devices }) =>
    devices.map((seeded): Box => ({ seeded, siteId: id, online: true, version: OLD })),
  )
  const world = { places, boxes, org: null, stable: NEW, begun: new Set<string>() }
  await listBegun(world)
  return world
}

it('upgrades each device when its setting demands it, and no other one', async () => {
  const runs = Number(process.env['SIGNALBOX_TEST_RUNS'] ?? DEFAULT_RUNS)
  for (const some of fc.sample(steps, runs)) {
    const world = await createWorld()
    const done: unknown[] = []
    try {
      for (const step of some) {
        done.push(step)
        const [changed, waited] = step
        for (const change of changed) await perform(world, change)
        // The setting may be seen before its time comes.
        await look(world)
        wait(world, waited)
        await look(world)
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
