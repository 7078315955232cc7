import { type OrgScope, systemScope } from '../../access/scope.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import type { OutboundHttp } from '../../platform/outbound/outbound-http.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { appendUpgradeChange } from '../events/append-events.ts'
import { noteUpgrades } from '../events/note-upgrades.ts'
import { type CheckVerdict, decideCheck } from './decide-check.ts'
import { wordsOf } from './decide-hold.ts'
import { endOf, waitEndMs, waitForCheck } from './decide-wait.ts'
import { presentPhase } from '../phases/present-phase.ts'
import { type DueCheck, claimChecks, endHold, lockWaiting, replaceHold, updateCheckDue } from './store-checks.ts'
import { releaseGates, resumeSiteUpgrades } from './store-hold.ts'
import { insertApproval } from '../phases/store.ts'
import type { UpgradeHold } from '../rollout.ts'

const INTERVAL_MS = 2000
const TIMEOUT_MS = 10_000
/**
 * Exceeds the time of a request and the write of its answer. After that another worker repeats the check of one that
 * died.
 */
const LEASE_MS = 60_000
const MAX_AT_ONCE = 20
/** Slow checks of one organization leave places to those of others. */
const MAX_PER_ORG = 5

/** Calls the checks for which upgrades wait at their gates, and ends their waits for a time. */
export function startGateChecks(ctx: Context, outbound: OutboundHttp): Pick<Poller, 'stop'> {
  const checks = createGateChecks(ctx, outbound)
  const poller = startPoller({
    name: 'gate checks',
    ctx,
    intervalMs: INTERVAL_MS,
    async work(signal) {
      // Each check that ends leaves its place to the next one.
      for (const call of await checks.begin(signal)) void call.then(() => poller.wake())
      return false
    },
  })
  return {
    async stop() {
      await poller.stop()
      await checks.ended()
    },
  }
}

export interface GateChecks {
  /**
   * Calls the checks that are due, and opens the gates whose time is over, as far as there are places.
   * @returns The calls, which never reject: a failed one is logged, and repeated once its lease has ended.
   */
  begin(signal: AbortSignal): Promise<Promise<void>[]>
  /** Resolves once all calls have ended. */
  ended(): Promise<void>
}

export function createGateChecks(ctx: Context, outbound: OutboundHttp): GateChecks {
  const calls = new Map<Promise<void>, string>()

  function begin(check: DueCheck, signal: AbortSignal): Promise<void> {
    const call = askCheck(ctx, outbound, { check, signal })
      .catch((error: unknown) => ctx.log.error({ err: error, upgrade_id: check.id }, 'A check of an upgrade failed'))
      .finally(() => calls.delete(call))
    calls.set(call, check.orgId)
    return call
  }

  return {
    async begin(signal) {
      const nowMs = ctx.serviceClock.nowMs()
      const due = await claimChecks(ctx.db, {
        nowMs,
        leaseUntilMs: nowMs + LEASE_MS,
        limit: MAX_AT_ONCE - calls.size,
        perOrg: MAX_PER_ORG,
        running: [...calls.values()],
      })
      return due.map((check) => begin(check, signal))
    },
    async ended() {
      await Promise.all(calls.keys())
    },
  }
}

async function askCheck(
  ctx: Context,
  outbound: OutboundHttp,
  { check, signal }: { readonly check: DueCheck; readonly signal: AbortSignal },
): Promise<void> {
  const { orgId, id, url, attempt, total, upgraded, failed } = check
  if (url === null) return endWait(ctx, check)
  const question = { org_id: orgId, upgrade_id: id, ...phaseOf(check), total, upgraded, failed }
  const result = await outbound.send({
    url,
    method: 'POST',
    headers: { 'User-Agent': 'Signalbox', 'Content-Type': 'application/json', 'Accept-Encoding': 'identity' },
    body: Buffer.from(JSON.stringify(question)),
    verifyCert: true,
    timeoutMs: TIMEOUT_MS,
    signal,
    mayArriveTwice: true,
    owner: orgId,
  })
  // The service stops: the check is repeated once the lease has ended.
  if (result.kind === 'aborted') return
  const answer =
    result.kind === 'answer'
      ? { status: result.status, body: result.body.toString('utf8'), error: null }
      : { status: null, body: '', error: result.error }
  await applyTo(ctx, check, decideCheck({ attempt, ...answer }))
}

async function applyTo(ctx: Context, check: DueCheck, verdict: CheckVerdict): Promise<void> {
  const scope = systemScope('rollout', check.orgId)
  await inTx(ctx, async (tx) => {
    const hold = await lockWaiting(tx, scope, check)
    if (hold !== null) await applyVerdict(ctx, tx, scope, { check, verdict, hold })
  })
}

/** Ends a wait for a time. If the clock was set back meanwhile, its instant may still be ahead. */
async function endWait(ctx: Context, check: DueCheck): Promise<void> {
  const scope = systemScope('rollout', check.orgId)
  await inTx(ctx, async (tx) => {
    const hold = await lockWaiting(tx, scope, check)
    if (hold === null) return
    const at = { now: ctx.clock.now(), nowMs: ctx.serviceClock.nowMs() }
    const endMs = waitEndMs(hold, at)
    await updateCheckDue(tx, scope, check.id, endMs > at.nowMs ? endMs : null)
    if (endMs <= at.nowMs) await openGate(tx, scope, { check, by: 'time', note: null, ...at })
  })
}

function phaseOf({ phase, of }: DueCheck) {
  return presentPhase({ phase, of: of ?? undefined })
}

interface Checked {
  readonly check: DueCheck
  readonly hold: UpgradeHold
}

async function applyVerdict(
  ctx: Context,
  tx: Tx,
  scope: OrgScope,
  { check, hold, verdict }: Checked & { readonly verdict: CheckVerdict },
): Promise<void> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  const { id, phase } = check
  await updateCheckDue(tx, scope, id, verdict.kind === 'retry' ? nowMs + verdict.afterMs : null)
  if (verdict.kind === 'hold') return holdForPerson(tx, scope, { check, hold, reason: verdict.reason, now })
  if (verdict.kind === 'open') return openGate(tx, scope, { check, by: 'check', note: verdict.note, now, nowMs })
  const ended = endOf(phase, { of: hold.of, isEmptied: check.isEmptied })
  await replaceHold(tx, scope, id, { ...hold, reason: waitForCheck(ended, verdict.failure) })
  noteUpgrades(tx, scope, [{ orgUpgradeId: id, id: null }])
}

/** The check has decided, or never will: the pause is that of a gate from now on. */
async function holdForPerson(
  tx: Tx,
  scope: OrgScope,
  { check, hold, reason, now }: Checked & { readonly reason: string; readonly now: Date },
): Promise<void> {
  const { id, of } = check
  await replaceHold(tx, scope, id, {
    by: 'gate',
    reason,
    since_s: epochS(now),
    // The wait for absent devices is extended by the time of the check as well.
    since_ms: hold.since_ms,
    ...(of !== null && { of }),
  })
  const message = `Upgrade ${id} held: ${reason}`
  const held = { type: 'UPGRADE_HELD', upgrade_id: id, ...phaseOf(check), reason, message } as const
  await appendUpgradeChange(tx, scope, held, now)
}

interface OpenedGate {
  readonly check: DueCheck
  readonly by: keyof typeof openings
  readonly note: string | null
  readonly now: Date
  readonly nowMs: number
}

/** What opens a gate without a person. */
const openings = {
  check: { type: 'UPGRADE_CHECK_PASSED', message: (phase: string) => `The check of ${phase} passed` },
  time: { type: 'UPGRADE_WAIT_ENDED', message: (phase: string) => `The wait after ${phase} ended` },
} as const

async function openGate(tx: Tx, scope: OrgScope, { check, by, note, now, nowMs }: OpenedGate): Promise<void> {
  const { id, phase, of } = check
  if (by === 'time' && check.waitFor !== 'time') {
    // The gate has a further condition: it is evaluated again, now that its instant is over.
    await endHold(tx, scope, id)
    await releaseGates(tx, scope, id, nowMs)
  } else {
    const opening = { phase, ...(of !== null && { of }), by, name: by, admin_id: null, note, at_s: epochS(now) }
    await insertApproval(tx, scope, id, opening)
    await resumeSiteUpgrades(tx, scope, id, nowMs)
  }
  const { type, message } = openings[by]
  const opened = { type, upgrade_id: id, ...phaseOf(check), ...(note !== null && { note }) } as const
  const words = `${wordsOf(of ?? undefined).phase} ${phase} of upgrade ${id}`
  await appendUpgradeChange(tx, scope, { ...opened, message: message(words) }, now)
  wakeAfterCommit(tx, 'rollouts')
}
