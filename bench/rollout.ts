import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { createLog } from '../src/platform/log.ts'
import { systemClock } from '../src/platform/clock.ts'
import type { Context } from '../src/platform/context.ts'
import { openDb, openPool } from '../src/platform/db.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.ts'
import { migrate } from '../src/platform/migrate.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { createServiceClock } from '../src/platform/service-clock.ts'
import { createWakes } from '../src/platform/wakes.ts'
import { defaultRolloutOptions } from '../src/rollout/rollout.ts'
import { startRollouts } from '../src/rollout/worker.ts'
import { createOrgUpgrade } from '../src/upgrades/create-org-upgrade.ts'
import { getOrgUpgrade } from '../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../src/upgrades/wire-parse.ts'
import { createFleet, seedOrg } from '../test/support/fleet.ts'

const DEVICES = 10_000

/**
 * An upgrade of 10,000 devices in four canary phases. The devices answer at once; the engine, the
 * gateway's records and every transition are as in service, committed durably.
 */
export async function run(): Promise<Record<string, unknown>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const log = createLog('warn')
  const postgres = await startEmbeddedPostgres({ dataDir, log })
  try {
    await migrate(postgres.connection)
    const pool = openPool({ ...postgres.connection }, (error) => log.warn({ err: error }, 'connection lost'))
    const db = openDb(pool)
    const secrets = createSecrets(randomBytes(32))
    const serviceClock = createServiceClock(0, () => performance.now())
    serviceClock.listen()
    const rest = { clock: systemClock, serviceClock, wakes: createWakes(), log, secrets, baseUrl: 'http://127.0.0.1' }
    const ctx: Context = { db, hotDb: db, ...rest }
    const figures = await upgradeAll(ctx)
    await db.destroy()
    return figures
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function upgradeAll(ctx: Context): Promise<Record<string, unknown>> {
  const org = await seedOrg(ctx, [{ devices: DEVICES }])
  const fleet = createFleet(ctx, [org])
  const connectStart = performance.now()
  await fleet.connect(org.sites.flatMap((site) => site.devices))
  const createStart = performance.now()
  const request = parseOrgUpgrade({ all_sites: true, reboot_strategy: 'canary', canary_phases: [1, 10, 50, 100] })
  const { id } = await createOrgUpgrade(ctx, org.scope, request)
  const runStart = performance.now()
  const rollouts = startRollouts(ctx, { ...defaultRolloutOptions, soakMs: 0 })
  let commands = 0
  while (!(await isOver(ctx, id))) {
    const sent = await fleet.answer()
    commands += sent
    if (sent === 0) await yieldToOthers()
  }
  const end = performance.now()
  await rollouts.stop()
  const upgrade = await getOrgUpgrade(ctx.db, org.scope, id)
  const upgraded = upgrade.siteUpgrades.flatMap(({ targets }) => targets.upgraded ?? []).length
  if (upgraded !== DEVICES || commands !== DEVICES) throw new Error(`${upgraded} upgraded by ${commands} commands`)
  return {
    devices: DEVICES,
    connect_s: seconds(createStart - connectStart),
    create_s: seconds(runStart - createStart),
    run_s: seconds(end - runStart),
    devices_per_s: Math.round(DEVICES / ((end - runStart) / 1000)),
    flashed_twice: [...fleet.flashes.values()].filter((count) => count > 1).length,
  }
}

async function isOver({ db }: Context, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('siteUpgrade')
    .select('id')
    .where('orgUpgradeId', '=', id)
    .where('finishedAt', 'is', null)
    .executeTakeFirst()
  return row === undefined
}

function seconds(ms: number): number {
  return Math.round(ms) / 1000
}
