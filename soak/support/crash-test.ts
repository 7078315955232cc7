import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../src/cli/client.ts'
import type { DeviceState } from '../../src/simulator/device.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { findEpochSpread, findInconsistencies, findUnfinishedTargets } from './check-upgrade.ts'
import { type Interruption, untilMoment } from './interruption.ts'
import { type FleetPace, type FleetProcess, createFleetProcess, fleetModels, planFleet } from './fleet.ts'
import { type Random, createRandom } from './random.ts'
import { type Service, createService } from './service.ts'

export interface CrashPlan {
  readonly seed: number
  readonly devices: number
  readonly sites: number
  /**
   * The number of upgrades of all devices, one after the other; more follow if not all interruptions have happened by
   * then.
   */
  readonly upgrades: number
  readonly interruptions: (random: Random) => readonly Interruption[]
  /** The maximum number of times that each device connects before the first upgrade. */
  readonly reconnects: number
  readonly soakS: number
  readonly imageBytes: number
  readonly pace: FleetPace
  /** The body of the upgrade request, without sites and version. */
  readonly request: Readonly<Record<string, unknown>>
  /** An upgrade that has not ended within this time is a failure. */
  readonly upgradeWithinMs: number
}

export interface CrashReport {
  readonly seed: number
  readonly devices: number
  readonly upgrades: number
  readonly targets: number
  readonly kills: number
  readonly graceful_stops: number
  readonly sent_commands: number
  readonly booted_twice: number
  readonly flashed_twice: number
  readonly left_behind: number
  readonly session_epochs: { readonly lowest: number; readonly highest: number }
  readonly upgrade_s: readonly number[]
  readonly total_s: number
  /** One sentence per violation. */
  readonly failed: readonly string[]
}

/** The parts of one run. */
interface Run {
  readonly plan: CrashPlan
  readonly random: Random
  readonly service: Service
  readonly fleet: FleetProcess
  readonly devices: readonly PlannedDevice[]
  readonly say: (line: string) => void
  client: Client
  orgId: string
  /** The interruptions that are still ahead. */
  interruptions: readonly Interruption[]
}

/**
 * Upgrades simulated devices again and again while the server is killed at random. Then compares with the devices' own
 * records whether each upgrade booted each device exactly once, and whether the service reports the same.
 * @param folder Exists and is empty; all files of the run are written there.
 */
export async function runCrashTest(plan: CrashPlan, folder: string, say: (line: string) => void): Promise<CrashReport> {
  const startedMs = performance.now()
  const random = createRandom(plan.seed)
  const service = await createService(folder, { SIGNALBOX_ROLLOUT_SOAK_S: String(plan.soakS) })
  const fleet = createFleetProcess(folder, service, plan.pace)
  try {
    service.start()
    if (!(await service.ready())) throw new Error(`the server did not start; see ${service.logFile}`)
    const devices = planFleet(plan.devices, '1.0.0')
    const run = await setUp({ plan, random, service, fleet, devices, say })
    const session_epochs = await connectUnequally(run)
    say(`${plan.devices} devices are connected; their session epochs are ${JSON.stringify(session_epochs)}`)
    const rounds: Round[] = []
    while (rounds.length < plan.upgrades || (run.interruptions.length > 0 && rounds.length < 3 * plan.upgrades)) {
      const round = await upgradeOnce(run, rounds.length + 1)
      say(`upgrade ${rounds.length + 1}: ${JSON.stringify(round.figures)} ${round.failed.join('; ')}`)
      rounds.push(round)
      if (!round.isOver) break
    }
    const failed = rounds.flatMap((round) => round.failed)
    if (run.interruptions.length > 0) failed.push(`${run.interruptions.length} interruptions did not take place`)
    return { ...sumUp(plan, rounds), session_epochs, total_s: secondsSince(startedMs), failed }
  } finally {
    await fleet.stop()
    await service.close()
  }
}

type Bare = Omit<Run, 'client' | 'orgId' | 'interruptions'>

/** Creates an organization with its sites, and claims the devices and distributes them over the sites. */
async function setUp(bare: Bare): Promise<Run> {
  const { plan, random, service, devices } = bare
  const operator = await service.client()
  const account = { email: 'soak@example.test', password: 'not a secret', org: 'Soak' }
  const made = (await operator.call('POST', '/operator/v1/bootstrap', account)) as {
    readonly org_id: string
    readonly api_token: string
  }
  const client = await service.client(`Token ${made.api_token}`)
  const org = `/api/v1/orgs/${made.org_id}`
  const manifest = devices.map(({ mac, serial, model, type }, index) => ({
    mac,
    serial,
    model,
    type,
    claim_code: `SOAK0${String(index).padStart(5, '0')}00000`,
  }))
  await operator.call('POST', '/operator/v1/manifest', { devices: manifest })
  await client.call(
    'POST',
    `${org}/inventory`,
    manifest.map(({ claim_code }) => claim_code),
  )
  for (let site = 0; site < plan.sites; site += 1) {
    const { id } = (await client.call('POST', `${org}/sites`, { name: `Site ${site + 1}` })) as { readonly id: string }
    const macs = devices.filter((_, index) => index % plan.sites === site).map(({ mac }) => mac)
    await client.call('PUT', `${org}/inventory`, { op: 'assign', site_id: id, macs })
  }
  return { ...bare, client, orgId: made.org_id, interruptions: plan.interruptions(random) }
}

/** Makes some devices connect more often than others, as in a fleet that has been in service for a while. */
async function connectUnequally({ plan, random, service, fleet, devices }: Run) {
  for (let round = 1; round < plan.reconnects; round += 1) {
    const some = random.shuffle(devices).slice(0, Math.ceil(random.between(0.2, 0.8) * devices.length))
    await fleet.start(some)
    await fleet.stop()
  }
  await fleet.start(devices)
  return findEpochSpread(service)
}

interface Round {
  readonly isOver: boolean
  readonly figures: {
    readonly seconds: number
    readonly kills: number
    readonly stops: number
    readonly targets: number
    readonly commands: number
    readonly bootedTwice: number
    readonly flashedTwice: number
    readonly leftBehind: number
  }
  readonly failed: readonly string[]
}

async function upgradeOnce(run: Run, number: number): Promise<Round> {
  const { plan, client, orgId, fleet, devices } = run
  const org = `/api/v1/orgs/${orgId}`
  const version = `${number + 1}.0.0`
  const query = new URLSearchParams({ version, models: fleetModels.join(',') })
  await client.upload(`${org}/firmware?${query.toString()}`, imageOf(version, plan.imageBytes))
  const before = fleet.journal()
  const startedMs = performance.now()
  const body = { all_sites: true, version, ...plan.request }
  const { id } = (await client.call('POST', `${org}/devices/upgrade`, body)) as { readonly id: string }
  const quota = Math.ceil(run.interruptions.length / Math.max(1, plan.upgrades - number + 1))
  const { kills, stops } = await interrupt(run, { id, quota })
  const isOver = await untilOver(run, id, startedMs + plan.upgradeWithinMs)
  const seconds = secondsSince(startedMs)
  const effects = compareJournals(devices, { before, after: fleet.journal() }, version)
  const targets = await findUnfinishedTargets(run.service, id)
  const failed = [
    ...(isOver ? [] : [`upgrade ${number} has not ended after ${seconds} s`]),
    ...effects.failed,
    ...targets.failed,
    ...(await findInconsistencies(run.service)),
  ].map((sentence) => `upgrade ${number}: ${sentence}`)
  const { bootedTwice, flashedTwice, leftBehind } = effects
  const figures = { seconds, kills, stops, targets: targets.total, commands: targets.commands }
  return { isOver, figures: { ...figures, bootedTwice, flashedTwice, leftBehind }, failed }
}

/** Builds an image. Its first line contains the version for the simulator; the rest can't be compressed in transit. */
function imageOf(version: string, bytes: number): Buffer {
  const head = Buffer.from(`SIGNALBOX-FIRMWARE model=${fleetModels.join(',')} version=${version}\n`)
  return Buffer.concat([head, randomBytes(bytes)])
}

/** Kills the server and starts it again until `quota` interruptions have happened or the upgrade is over. */
async function interrupt(run: Run, { id, quota }: { readonly id: string; readonly quota: number }) {
  const { service, fleet, say } = run
  const watched = { service, fleet, orgUpgradeId: id, isOver: () => isOver(run, id) }
  const done = { kills: 0, stops: 0 }
  for (const { signal, comes, downMs } of run.interruptions.slice(0, quota)) {
    if (!(await untilMoment(comes, watched))) break
    const wasReady = await service.isReady()
    const code = await service.end(signal)
    if (signal === 'SIGINT' && wasReady && code !== 0) say(`a stop in order ended with code ${code}`)
    say(`${signal} at ${JSON.stringify(comes)}`)
    done[signal === 'SIGINT' ? 'stops' : 'kills'] += 1
    await delay(downMs)
    service.start()
  }
  run.interruptions = run.interruptions.slice(done.kills + done.stops)
  if (!(await service.ready())) throw new Error(`the server did not start again; see ${service.logFile}`)
  return done
}

const POLL_MS = 500

async function untilOver(run: Run, id: string, deadlineMs: number): Promise<boolean> {
  while (performance.now() < deadlineMs) {
    if (await isOver(run, id)) return true
    await delay(POLL_MS)
  }
  return false
}

const endStates = new Set(['completed', 'failed', 'cancelled'])

/** Returns false while the server does not answer. */
async function isOver({ client, orgId }: Run, id: string): Promise<boolean> {
  try {
    const detail = (await client.call('GET', `/api/v1/orgs/${orgId}/devices/upgrade/${id}`)) as {
      readonly upgrades: readonly { readonly upgrade: { readonly status: string } }[]
    }
    return detail.upgrades.every(({ upgrade }) => endStates.has(upgrade.status))
  } catch {
    return false // The server is starting.
  }
}

interface Journals {
  readonly before: ReadonlyMap<string, DeviceState>
  readonly after: ReadonlyMap<string, DeviceState>
}

/** Compares the effects of the upgrade on the devices with their own records. */
function compareJournals(devices: readonly PlannedDevice[], { before, after }: Journals, version: string) {
  const effects = devices.map(({ mac }) => {
    const then = before.get(mac)?.counts
    const now = after.get(mac)
    return {
      mac,
      firmware: now?.firmware,
      activity: now?.activity.kind,
      boots: (now?.counts.boots ?? 0) - (then?.boots ?? 0),
      flashes: (now?.counts.flashes ?? 0) - (then?.flashes ?? 0),
    }
  })
  const bootedTwice = effects.filter(({ boots }) => boots > 1)
  const flashedTwice = effects.filter(({ flashes }) => flashes > 1)
  const leftBehind = effects.filter(({ firmware, boots }) => firmware !== version || boots === 0)
  return {
    bootedTwice: bootedTwice.length,
    flashedTwice: flashedTwice.length,
    leftBehind: leftBehind.length,
    failed: [
      ...bootedTwice.map(({ mac, boots }) => `${mac} booted ${boots} times`),
      ...flashedTwice.map(({ mac, flashes }) => `${mac} flashed ${flashes} times`),
      ...leftBehind.map(({ mac, firmware, activity }) => `${mac} runs ${firmware ?? '1.0.0'} (${activity ?? 'idle'})`),
    ],
  }
}

function sumUp({ seed, devices }: CrashPlan, rounds: readonly Round[]) {
  const sum = (of: (figures: Round['figures']) => number) => rounds.reduce((all, { figures }) => all + of(figures), 0)
  return {
    seed,
    devices,
    upgrades: rounds.length,
    targets: sum(({ targets }) => targets),
    kills: sum(({ kills }) => kills),
    graceful_stops: sum(({ stops }) => stops),
    sent_commands: sum(({ commands }) => commands),
    booted_twice: sum(({ bootedTwice }) => bootedTwice),
    flashed_twice: sum(({ flashedTwice }) => flashedTwice),
    left_behind: sum(({ leftBehind }) => leftBehind),
    upgrade_s: rounds.map(({ figures }) => figures.seconds),
  }
}

function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 100) / 10
}
