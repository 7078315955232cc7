// A process that changes an upgrade and kills itself, as by `kill -9`, at the commit of the change: before it is sent or
// after it is confirmed. Its orders are its first message.
import { randomBytes } from 'node:crypto'
import { flushCompileCache } from 'node:module'
import pg from 'pg'
import { pino } from 'pino'
import { systemScope } from '../../../src/access/scope.ts'
import { openContext } from '../../../src/app/open-context.ts'
import type { Context } from '../../../src/platform/context.ts'
import { createSecrets } from '../../../src/platform/secrets.ts'
import { createOutboundHttp } from '../../../src/platform/outbound/outbound-http.ts'
import { deviceUpgradeChecks } from '../../../src/rollout/gates/device-checks.ts'
import { createGateChecks } from '../../../src/rollout/gates/gate-checks.worker.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { endUpgrades } from '../../../src/rollout/stops/end-upgrades.worker.ts'
import { advanceRollouts, followWallClock } from '../../../src/rollout/worker.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { excludeDevices } from '../../../src/upgrades/changes/exclude-devices.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { parseOrgUpgrade } from '../../../src/upgrades/wire-parse.ts'
import type { Change, Orders, Subject } from './kill-at-commit.ts'

type Act = (ctx: Context, subject: Subject) => Promise<unknown>

const scopeOf = ({ orgId }: Subject) => systemScope('operator', orgId)

const changes: Record<Change, Act> = {
  pause: (ctx, subject) => pauseOrgUpgrade(ctx, scopeOf(subject), subject.id),
  resume: (ctx, subject) => resumeOrgUpgrade(ctx, scopeOf(subject), subject.id),
  begin: (ctx, subject) => approveOrgUpgrade(ctx, scopeOf(subject), { id: subject.id, phase: 0, note: null }),
  approve: (ctx, subject) => approveOrgUpgrade(ctx, scopeOf(subject), { id: subject.id, phase: 1, note: null }),
  retry: (ctx, subject) => retryOrgUpgrade(ctx, scopeOf(subject), { id: subject.id, macs: null }),
  exclude: async (ctx, subject) => {
    const targets = await ctx.db.selectFrom('upgradeTarget').select('mac').where('phase', '=', 1).execute()
    const macs = targets.map(({ mac }) => mac)
    return excludeDevices(ctx, scopeOf(subject), { id: subject.id, macs, note: null })
  },
  end: (ctx) => endUpgrades(ctx),
  cancel: (ctx, subject) => cancelOrgUpgrade(ctx, scopeOf(subject), subject.id),
  supersede: (ctx, subject) =>
    createOrgUpgrade(ctx, scopeOf(subject), parseOrgUpgrade({ all_sites: true, supersede: true })),
  include: (ctx) => includeAll(ctx),
  wait: async (ctx) => {
    const checks = createGateChecks(
      ctx,
      createOutboundHttp({ allowCidrs: [], allowLoopback: false }),
      deviceUpgradeChecks,
    )
    await Promise.all(await checks.begin(new AbortController().signal))
  },
  // A server that starts makes all upgrades due, because a dead one may hold leases.
  round: async (ctx) => {
    await followWallClock(ctx, null)
    await advanceRollouts(ctx, { ...defaultRolloutOptions, soakMs: 0 }, new AbortController().signal)
  },
}

/** Ends this process at the commit of the first transaction that writes to the table. */
function dieAtCommit({ moment, table }: Orders): void {
  const writes = new RegExp(`(?:insert into|update) "?${table}\\b`)
  const writers = new WeakSet<object>()
  const query: unknown = Reflect.get(pg.Client.prototype, 'query')
  const send = (client: pg.Client, [sent, ...rest]: unknown[]): unknown => {
    const text = typeof sent === 'string' ? sent : (sent as { readonly text: string }).text
    if (writes.test(text)) writers.add(client)
    const isLast = text === 'commit' && writers.has(client)
    if (isLast && moment === 'before') return die()
    const answer: unknown = Reflect.apply(query as (...args: unknown[]) => unknown, client, [sent, ...rest])
    return isLast ? Promise.resolve(answer).then(die) : answer
  }
  Reflect.set(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    return send(this, args)
  })
}

/** The promise is for the kernel that would deliver the signal a moment later. */
function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

// Node would store the compiled modules only at an orderly end; the next process starts in half the time with them.
flushCompileCache()

process.once('message', (orders: Orders) => {
  dieAtCommit(orders)
  void obey(orders)
})

/** Ends normally if the change had no such commit; an error ends the process, too. */
async function obey({ connection, nowMs, change, subject }: Orders): Promise<void> {
  const clock = { now: () => new Date(nowMs) }
  const opened = await openContext({
    connection: { ...connection, application_name: 'killed' },
    log: pino({ level: 'warn' }),
    secrets: createSecrets(randomBytes(32)),
    baseUrl: 'http://127.0.0.1',
    clock,
    serviceClock: { nowMs: () => nowMs, listeningSinceMs: () => 0 },
  })
  await changes[change](opened.ctx, subject)
  await opened.close()
  process.disconnect()
}
