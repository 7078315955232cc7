import { findEpochSpread } from './check-upgrade.ts'
import { countStrategies } from './count-strategies.ts'
import { type CrashPlan, type Run, setUp } from './crash-run.ts'
import { createFleetProcess } from '../../bench/support/fleet-process.ts'
import { planFleet } from './plan-fleet.ts'
import { createRandom } from './random.ts'
import { secondsSince } from './seconds-since.ts'
import { createService } from './service.ts'
import { type Round, upgradeSites } from './upgrade-round.ts'

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
  /** How often a rollout was resumed because all devices of a phase were offline. */
  readonly resumed: number
  readonly session_epochs: { readonly lowest: number; readonly highest: number }
  /** The number of rollouts by strategy. */
  readonly strategies: Readonly<Record<string, number>>
  /** The times of rollouts that began together, until the last of them had ended. */
  readonly upgrade_s: readonly number[]
  /** The time from the last start of the server in each round with an interruption until all devices were upgraded. */
  readonly since_restarts_s: readonly number[]
  /** The longest of these times. */
  readonly since_restart_s: number
  /** How many switches took three minutes more, because only their silence showed that they installed nothing. */
  readonly silent_switches: number
  readonly total_s: number
  /** One sentence per violation. */
  readonly failed: readonly string[]
}

/** How many times the planned rollouts may begin. On a fast machine they end before many of the interruptions, which then are left. */
const MOST_TIMES = 4

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
    for (
      let begun = 0;
      begun < plan.upgrades || (run.interruptions.length > 0 && begun < MOST_TIMES * plan.upgrades);
    ) {
      const round = await upgradeSites(run, { number: rounds.length + 1, begun })
      say(`round ${rounds.length + 1}: ${JSON.stringify(round.figures)} ${round.failed.join('; ')}`)
      rounds.push(round)
      begun += round.strategies.length
      if (!round.isOver) break
    }
    const failed = rounds.flatMap((round) => round.failed)
    if (run.interruptions.length > 0) failed.push(`${run.interruptions.length} interruptions did not take place`)
    return { ...sumUp(plan, rounds), resumed: run.resumed, session_epochs, total_s: secondsSince(startedMs), failed }
  } finally {
    await fleet.stop()
    await service.close()
  }
}

const CONNECTED_WITHIN_MS = 60_000

/** Makes some devices connect more often than others, as in a fleet that has been in service for a while. */
async function connectUnequally({ plan, random, service, fleet, devices }: Run) {
  for (let round = 1; round < plan.reconnects; round += 1) {
    const some = random.shuffle(devices).slice(0, Math.ceil(random.between(0.2, 0.8) * devices.length))
    await fleet.start(some)
    await fleet.stop()
  }
  await fleet.start(devices)
  return findEpochSpread(service, devices.length, CONNECTED_WITHIN_MS)
}

function sumUp({ seed, devices }: CrashPlan, rounds: readonly Round[]) {
  const strategies = rounds.flatMap((round) => round.strategies)
  const sinceRestartsS = rounds.flatMap(({ figures }) => figures.sinceRestartS ?? [])
  const sum = (of: (figures: Round['figures']) => number) => rounds.reduce((all, { figures }) => all + of(figures), 0)
  return {
    seed,
    devices,
    upgrades: strategies.length,
    strategies: countStrategies(strategies),
    targets: sum(({ targets }) => targets),
    kills: sum(({ kills }) => kills),
    graceful_stops: sum(({ stops }) => stops),
    sent_commands: sum(({ commands }) => commands),
    booted_twice: sum(({ bootedTwice }) => bootedTwice),
    flashed_twice: sum(({ flashedTwice }) => flashedTwice),
    left_behind: sum(({ leftBehind }) => leftBehind),
    silent_switches: sum(({ silentSwitches }) => silentSwitches),
    upgrade_s: rounds.map(({ figures }) => figures.seconds),
    since_restarts_s: sinceRestartsS,
    since_restart_s: Math.max(0, ...sinceRestartsS),
  }
}
