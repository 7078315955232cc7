// An upgrade of more devices than the HTTP server has room for. The server refuses most of their downloads.
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { CommandToSend } from '../../../src/devices/commands/store.ts'
import { DEFAULT_DOWNLOAD_LIMITS } from '../../../src/firmware/downloads/download-limits.ts'
import { firmwareDownloadUrl } from '../../../src/firmware/downloads/download-url.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
import { getOrgUpgrade } from '../../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../../src/upgrades/wire-parse.ts'
import { begin, drain } from '../../http/firmware/paused-downloads.ts'
import { type Reply, type SeededDevice, createFleet, seedOrg } from '../../support/fleets/fleet.ts'
import { startTestServer } from '../../support/servers/server.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, options } from '../harness.ts'

const DEVICES = 9
const PLACES = 2
/** This exceeds the buffers of the sockets at both ends, so that a device that reads nothing keeps its place. */
const IMAGE_BYTES = 15 * 1024 * 1024
/** The longest pause between two attempts. */
const PAUSE_MS = 16 * 60_000
/** Enough for all devices if each round has as many as there are places. */
const ROUNDS = 12

type Bounds = NonNullable<Parameters<typeof startTestServer>[3]>

/** A site with an upgrade, whose devices download from the server. */
async function startCrowd(bounds: Bounds) {
  const clock = createTestClock()
  const server = await startTestServer(clock, {}, null, bounds)
  onTestFinished(() => server.close())
  const { ctx } = server
  const org = await seedOrg(ctx, [{ devices: DEVICES }])
  const folder = join(server.dataDir, 'firmware')
  await mkdir(folder, { recursive: true })
  const path = join(folder, org.imageId)
  await writeFile(path, '')
  await truncate(path, IMAGE_BYTES)
  await ctx.db
    .updateTable('firmwareImage')
    .set({ sizeBytes: String(IMAGE_BYTES) })
    .execute()
  const fleet = createFleet(ctx, [org])
  await fleet.connect(org.sites.flatMap(({ devices }) => devices))
  const { id } = await createOrgUpgrade(ctx, org.scope, parseOrgUpgrade({ all_sites: true, strategy: 'big_bang' }))

  /** Those that share a round request their images together, and read them once each of them has its answer. */
  function createDownloader(): (_: SeededDevice, attempt: number, command: CommandToSend) => Promise<Reply> {
    const answers: ReturnType<typeof begin>[] = []
    return async (_, _attempt, { orgId, id: commandId }) => {
      const ticket = { orgId, commandId, imageId: org.imageId }
      const answer = begin(firmwareDownloadUrl(ctx, ticket, addMs(clock.now(), PAUSE_MS)))
      answers.push(answer)
      const response = await answer.catch(() => null)
      await Promise.allSettled(answers)
      if (response === null) return 'refuses'
      const { complete } = await drain(response)
      return response.statusCode === 200 && complete ? 'upgrades' : 'refuses'
    }
  }

  return {
    fleet,
    async playRound(): Promise<void> {
      await advanceRollouts(ctx, options, new AbortController().signal)
      await fleet.answer(createDownloader())
      clock.advance(1)
      await advanceRollouts(ctx, options, new AbortController().signal)
      await expectConsistent(ctx)
      clock.advance(PAUSE_MS)
    },
    count: async () => countAll(await getOrgUpgrade(ctx.db, org.scope, id)),
    listTargets: () =>
      ctx.db.selectFrom('upgradeTarget').select(['failedAttempts', 'lostAttempts', 'attempt']).execute(),
  }
}

it.each<[string, Bounds]>([
  ['places for downloads', { firmwareDownloads: { ...DEFAULT_DOWNLOAD_LIMITS, atOnce: PLACES, waitMs: 0 } }],
  ['connections for their network', { connectionsPerNetwork: PLACES }],
])(
  'all devices are upgraded, and none loses an attempt, by a server that has too few %s',
  { timeout: 120_000 },
  async (_, bounds) => {
    const crowd = await startCrowd(bounds)
    await crowd.playRound()
    expect((await crowd.count())['upgraded']).toBeLessThanOrEqual(PLACES)
    for (let round = 1; round < ROUNDS && (await crowd.count())['upgraded'] !== DEVICES; round += 1)
      await crowd.playRound()
    expect(await crowd.count()).toEqual({ upgraded: DEVICES })
    expect([...crowd.fleet.flashes.values()]).toEqual(Array.from({ length: DEVICES }, () => 1))
    const targets = await crowd.listTargets()
    expect(targets.every(({ failedAttempts }) => failedAttempts === 0)).toBe(true)
    expect(targets.every(({ attempt, lostAttempts }) => attempt === lostAttempts + 1)).toBe(true)
    // As many refusals would have failed the device, had they counted.
    expect(Math.max(...targets.map(({ lostAttempts }) => lostAttempts))).toBeGreaterThanOrEqual(options.maxAttempts)
  },
)
