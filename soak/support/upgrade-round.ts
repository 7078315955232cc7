import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { countSilentSwitches, findInconsistencies, findUnfinishedTargets } from './check-upgrade.ts'
import { type Effects, compareJournals } from './compare-journals.ts'
import type { Run } from './crash-run.ts'
import { fleetModels } from './plan-fleet.ts'
import { untilMoment } from './interruption.ts'
import type { PlannedRollout } from './plan-rollouts.ts'
import { secondsSince } from './seconds-since.ts'

export interface Round {
  readonly isOver: boolean
  /** One for each rollout. */
  readonly strategies: readonly string[]
  readonly figures: {
    readonly seconds: number
    readonly kills: number
    readonly stops: number
    readonly targets: number
    readonly commands: number
    readonly bootedTwice: number
    readonly flashedTwice: number
    readonly leftBehind: number
    /** The time from the last start of the server until all devices were upgraded; null without an interruption. */
    readonly sinceRestartS: number | null
    /** See countSilentSwitches(). */
    readonly silentSwitches: number
  }
  readonly failed: readonly string[]
}

/** A rollout that has begun. */
interface Rollout extends PlannedRollout {
  readonly id: string
  /** The devices that it must upgrade. */
  readonly macs: readonly string[]
}

interface Place {
  /** Counted from 1. */
  readonly number: number
  /** The number of rollouts that began in earlier rounds. */
  readonly begun: number
}

/** Carries out rollouts that begin together. */
export async function upgradeSites(run: Run, { number, begun }: Place): Promise<Round> {
  const { plan, client, orgId, fleet } = run
  const version = `${number + 1}.0.0`
  const query = new URLSearchParams({ version, models: fleetModels.join(',') })
  await client.upload(`/api/v1/orgs/${orgId}/firmware?${query.toString()}`, imageOf(version, plan.imageBytes))
  const before = fleet.journal()
  const startedMs = performance.now()
  const rollouts: Rollout[] = []
  for (const planned of plan.rollouts(run.random, plan.sites)) rollouts.push(await begin(run, planned, version))
  const ids = rollouts.map(({ id }) => id)
  const roundsLeft = Math.max(1, Math.ceil((plan.upgrades - begun) / rollouts.length))
  const quota = Math.ceil(run.interruptions.length / roundsLeft)
  const { restartedMs, ...interrupted } = await interrupt(run, { ids, quota })
  const isOver = await untilOver(run, ids, startedMs + plan.upgradeWithinMs)
  const seconds = secondsSince(startedMs)
  const sinceRestartS = restartedMs === null ? null : secondsSince(restartedMs)
  const after = fleet.journal()
  const checked = await Promise.all(
    rollouts.map((rollout) => check(run, rollout, compareJournals(rollout.macs, { before, after }, version))),
  )
  const failed = [
    ...(isOver ? [] : [`not all rollouts have ended after ${seconds} s`]),
    ...checked.flatMap((rollout) => rollout.failed),
    ...(await findInconsistencies(run.service)),
  ].map((sentence) => `round ${number}: ${sentence}`)
  const sum = (of: (rollout: Checked) => number): number => checked.reduce((all, rollout) => all + of(rollout), 0)
  return {
    isOver,
    strategies: rollouts.map(({ request }) => String(request['strategy'] ?? request['reboot_strategy'])),
    figures: {
      seconds,
      ...interrupted,
      targets: sum(({ targets }) => targets),
      commands: sum(({ commands }) => commands),
      bootedTwice: sum(({ bootedTwice }) => bootedTwice),
      flashedTwice: sum(({ flashedTwice }) => flashedTwice),
      leftBehind: sum(({ leftBehind }) => leftBehind),
      sinceRestartS,
      silentSwitches: await countSilentSwitches(run.service, ids),
    },
    failed,
  }
}

interface Checked extends Effects {
  readonly targets: number
  readonly commands: number
}

async function check({ service }: Run, { id, macs }: Rollout, effects: Effects): Promise<Checked> {
  const { total, commands, failed } = await findUnfinishedTargets(service, id)
  const others = total === macs.length ? [] : [`rollout ${id} has ${total} targets instead of ${macs.length}`]
  return { ...effects, targets: total, commands, failed: [...effects.failed, ...failed, ...others] }
}

async function begin(run: Run, planned: PlannedRollout, version: string): Promise<Rollout> {
  const { plan, client, orgId, siteIds, devices } = run
  const { sites, request } = planned
  const body = { site_ids: sites.map((site) => siteIds[site]), version, ...request }
  const { id } = (await client.call('POST', `/api/v1/orgs/${orgId}/devices/upgrade`, body)) as { readonly id: string }
  const macs = devices
    .filter((_, index) => sites.includes(index % plan.sites))
    .filter(({ type }) => (request.device_type ?? type) === type)
    .map(({ mac }) => mac)
  return { ...planned, id, macs }
}

/** Builds an image. Its first line contains the version for the simulator; the rest can't be compressed in transit. */
function imageOf(version: string, bytes: number): Buffer {
  const head = Buffer.from(`SIGNALBOX-FIRMWARE model=${fleetModels.join(',')} version=${version}\n`)
  return Buffer.concat([head, randomBytes(bytes)])
}

/** Kills the server and starts it again until `quota` interruptions have happened or the rollouts are over. */
async function interrupt(run: Run, { ids, quota }: { readonly ids: readonly string[]; readonly quota: number }) {
  const { service, fleet, say } = run
  const watched = { service, fleet, orgUpgradeIds: ids, isOver: () => areOver(run, ids) }
  const done = { kills: 0, stops: 0, restartedMs: null as number | null }
  for (const { signal, comes, downMs } of run.interruptions.slice(0, quota)) {
    if (!(await untilMoment(comes, watched))) break
    const wasReady = await service.isReady()
    const code = await service.end(signal)
    if (signal === 'SIGINT' && wasReady && code !== 0) say(`a graceful stop ended with code ${code}`)
    say(`${signal} at ${JSON.stringify(comes)}`)
    done[signal === 'SIGINT' ? 'stops' : 'kills'] += 1
    await delay(downMs)
    service.start()
    done.restartedMs = performance.now()
  }
  run.interruptions = run.interruptions.slice(done.kills + done.stops)
  if (!(await service.ready())) throw new Error(`the server did not start again; see ${service.logFile}`)
  return done
}

const POLL_MS = 500

async function untilOver(run: Run, ids: readonly string[], deadlineMs: number): Promise<boolean> {
  while (performance.now() < deadlineMs) {
    if (await areOver(run, ids)) return true
    await delay(POLL_MS)
  }
  return false
}

const endStates = new Set(['completed', 'failed', 'cancelled'])

async function areOver(run: Run, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if (!(await isOver(run, id))) return false
  return true
}

interface Detail {
  readonly upgrades: readonly {
    readonly upgrade: {
      readonly status: string
      readonly held?: { readonly by: string }
      readonly targets: { readonly failed: readonly string[] }
    }
  }[]
}

/** Returns false while the server does not answer. */
async function isOver(run: Run, id: string): Promise<boolean> {
  const path = `/api/v1/orgs/${run.orgId}/devices/upgrade/${id}`
  try {
    const { upgrades } = (await run.client.call('GET', path)) as Detail
    // A phase of which all devices were offline has no success, so its gate waits for a person.
    if (upgrades.some(({ upgrade }) => upgrade.held?.by === 'gate' && upgrade.targets.failed.length === 0)) {
      await run.client.call('POST', `${path}/resume`, {})
      run.resumed += 1
    }
    return upgrades.every(({ upgrade }) => endStates.has(upgrade.status))
  } catch {
    return false // The server is starting.
  }
}
