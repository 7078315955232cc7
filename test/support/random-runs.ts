import { vi } from 'vitest'

/** Machines that are busy with other tests need several times as much. */
const MS_PER_RUN = 60_000

/**
 * Returns how often a test tries random values, and gives all tests of its file time for it.
 * @param byDefault So few that they take some seconds. `SIGNALBOX_TEST_RUNS` asks for more.
 */
export function randomRuns(byDefault: number): number {
  const runs = Number(process.env['SIGNALBOX_TEST_RUNS'] ?? byDefault)
  vi.setConfig({ testTimeout: Math.max(300_000, runs * MS_PER_RUN) })
  return runs
}
