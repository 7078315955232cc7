import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import type { CrashPlan } from './support/crash-run.ts'
import { runCrashTest } from './support/crash-test.ts'
import { planInterruptions } from './support/interruption.ts'
import { type PlanRollouts, onAllSites, onSomeSites } from './support/plan-rollouts.ts'

export const options = {
  seed: { type: 'string' },
  short: { type: 'boolean' },
  row: { type: 'boolean' },
  together: { type: 'string' },
  devices: { type: 'string' },
  kills: { type: 'string' },
  upgrades: { type: 'string' },
} as const

/** The fleet of a run, its upgrades, and how the server is interrupted meanwhile. */
interface Size extends Omit<CrashPlan, 'seed' | 'rollouts' | 'interruptions' | 'reconnects' | 'upgradeWithinMs'> {
  readonly kills: number
  /** The shortest and the longest time for which the server runs. */
  readonly upMs: readonly [number, number]
  /** The same for the time until it is started again. */
  readonly downMs: readonly [number, number]
}

/** Canary upgrades, one after the other, of devices with slow downloads. */
const long: Size = {
  devices: 300,
  sites: 3,
  upgrades: 6,
  kills: 36,
  upMs: [300, 15_000],
  downMs: [0, 8000],
  soakS: 5,
  imageBytes: 3_000_000,
  pace: { timeScale: 0.2, downloadBytesPerS: 500_000 },
}

/** Many rollouts, twenty at a time, each of two sites with a few devices that are soon back. Seven requests take turns. */
const short: Size = {
  devices: 120,
  sites: 40,
  upgrades: 200,
  kills: 60,
  upMs: [300, 12_000],
  downMs: [0, 2000],
  soakS: 1,
  imageBytes: 500_000,
  pace: { timeScale: 0.03, downloadBytesPerS: 500_000 },
}

/** Upgrades of all devices together, one after the other, each with six kills or stops in a row during the slow downloads. */
const row: Size = {
  devices: 40,
  sites: 2,
  upgrades: 5,
  kills: 25,
  upMs: [1500, 9000],
  downMs: [0, 2000],
  soakS: 1,
  imageBytes: 4_000_000,
  pace: { timeScale: 0.1, downloadBytesPerS: 700_000 },
}

/** With `--short`: the number of rollouts that begin together. */
const DEFAULT_TOGETHER = 20

/**
 * Runs upgrades at the default failure budget while the server is stopped or killed with `kill -9` at random times. Each
 * device must boot exactly once per upgrade, and no device may be left unfinished. By default a few long rollouts;
 * `--short` runs many short ones, with each strategy in turn, and `--row` interrupts single ones again and again.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const seed = parseCount(values, 'seed', randomInt(1, 2 ** 31))
  const [chosen, rollouts] = planOf(values)
  const { devices, upgrades, kills: defaultKills, upMs, downMs, ...plan } = chosen
  const kills = parseCount(values, 'kills', defaultKills)
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-soak-'))
  console.log(`seed ${seed}, files in ${folder}`)
  const report = await runCrashTest(
    {
      ...plan,
      seed,
      rollouts,
      devices: parseCount(values, 'devices', devices),
      upgrades: parseCount(values, 'upgrades', upgrades),
      interruptions: (random) => planInterruptions(random, { kills, stops: Math.ceil(kills / 6), upMs, downMs }),
      reconnects: 6,
      upgradeWithinMs: 30 * 60_000,
    },
    folder,
    (line) => console.log(line),
  )
  if (report.failed.length === 0) await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  return { ...report }
}

/** @throws Error that names an option which would have no effect. */
function planOf(values: OptionValues): readonly [Size, PlanRollouts] {
  if (values['short'] === true && values['row'] === true) throw new Error('--short and --row exclude each other')
  if (values['short'] !== true && values['together'] !== undefined) throw new Error('--together needs --short')
  if (values['short'] === true) return [short, onSomeSites(parseCount(values, 'together', DEFAULT_TOGETHER))]
  if (values['row'] === true) return [row, onAllSites({ strategy: 'big_bang' })]
  return [long, onAllSites({ strategy: 'canary' })]
}
