import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { runCrashTest } from './support/crash-test.ts'
import { planInterruptions } from './support/interruption.ts'

export const options = {
  seed: { type: 'string' },
  devices: { type: 'string' },
  kills: { type: 'string' },
  upgrades: { type: 'string' },
} as const

/**
 * Runs canary upgrades at the default failure budget, one after the other, of devices with slow downloads, while the
 * server is stopped or killed with `kill -9` at random times. Each device must boot exactly once per upgrade, and no
 * device may be left unfinished.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const seed = parseCount(values, 'seed', randomInt(1, 2 ** 31))
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-soak-'))
  console.log(`seed ${seed}, files in ${folder}`)
  const kills = parseCount(values, 'kills', 36)
  const report = await runCrashTest(
    {
      seed,
      devices: parseCount(values, 'devices', 300),
      sites: 3,
      upgrades: parseCount(values, 'upgrades', 6),
      interruptions: (random) =>
        planInterruptions(random, { kills, stops: Math.ceil(kills / 6), upMs: [300, 15_000], downMs: [0, 8000] }),
      reconnects: 6,
      soakS: 5,
      imageBytes: 3_000_000,
      pace: { timeScale: 0.2, downloadBytesPerS: 500_000 },
      request: { strategy: 'canary' },
      upgradeWithinMs: 30 * 60_000,
    },
    folder,
    (line) => console.log(line),
  )
  if (report.failed.length === 0) await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  return { ...report }
}
