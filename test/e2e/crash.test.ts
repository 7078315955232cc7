import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDir } from '../support/temporary-dir.ts'
import { runCrashTest } from '../../soak/support/crash-test.ts'
import type { Interruption, Moment } from '../../soak/support/interruption.ts'
import { onAllSites } from '../../soak/support/plan-rollouts.ts'
import { copyPreparedData } from '../support/database/prepared-data.ts'

/**
 * How soon after the last restart of the server all devices must be upgraded, the rest of the phases included. A device that
 * waits for a time-out, although what happened can be known when it is back, needs longer.
 */
const RECOVERED_WITHIN_S = 60

/**
 * How much longer it may take if a switch had the whole image when the server was killed, and installed nothing: only three
 * minutes of silence show that.
 */
const SILENT_SWITCH_S = 180

const kill = (comes: Moment): Interruption => ({ signal: 'SIGKILL', comes, downMs: 0 })

// The short form of `npm run soak -- rollout`.
it('boots each device exactly once, and soon leaves none unfinished, whatever the server was doing when it was killed', async () => {
  const folder = await temporaryDir()
  await copyPreparedData(join(folder, 'data'))
  const report = await runCrashTest(
    {
      seed: 1,
      devices: 20,
      sites: 2,
      upgrades: 1,
      interruptions: () => [
        kill({ in: 'download', phase: 1 }),
        kill({ in: 'install', phase: 1 }),
        { signal: 'SIGINT', comes: { in: 'install', phase: 2 }, downMs: 500 },
        // The server is starting.
        kill({ afterMs: 300 }),
      ],
      reconnects: 3,
      soakS: 1,
      // More than the buffers of two sockets can hold, so that a download takes seconds.
      imageBytes: 16_000_000,
      pace: { timeScale: 0.05, downloadBytesPerS: 6_000_000 },
      rollouts: onAllSites({ strategy: 'canary', canary_phases: [20, 100] }),
      upgradeWithinMs: 300_000,
    },
    folder,
    () => {},
  )
  expect(report).toMatchObject({
    targets: 20,
    kills: 3,
    graceful_stops: 1,
    booted_twice: 0,
    flashed_twice: 0,
    left_behind: 0,
    failed: [],
  })
  expect(report.since_restart_s).toBeGreaterThan(0)
  const isAnySilent = report.silent_switches > 0
  expect(report.since_restart_s).toBeLessThan(RECOVERED_WITHIN_S + (isAnySilent ? SILENT_SWITCH_S : 0))
  expect(report.session_epochs.highest).toBeGreaterThan(report.session_epochs.lowest)
}, 400_000)
