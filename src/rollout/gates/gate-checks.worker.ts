import { type OrgScope, systemScope } from '../../access/scope.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import type { OutboundHttp } from '../../platform/outbound/outbound-http.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import type { CheckedUpgrades } from './checked-upgrades.ts'
import { type CheckVerdict, decideCheck } from './decide-check.ts'
import { endOf, waitEndMs, waitForCheck } from './decide-wait.ts'
import { presentPhase } from '../phases/present-phase.ts'
import { type DueCheck, claimChecks, lockWaiting, updateCheckDue } from './store-checks.ts'
import type { UpgradeHold } from '../rollout.ts'

const INTERVAL_MS = 2000
const TIMEOUT_MS = 10_000
/**
 * Exceeds the time of a request and the write of its answer. After that another worker repeats the check of one that
 * died.
 */
const LEASE_MS = 60_000
/** Of one kind of upgrades. */
const MAX_AT_ONCE = 20
/** Slow checks of one organization leave places to those of others. */
const MAX_PER_ORG = 5

/** Calls the checks for which upgrades wait at their gates, and ends their waits for a time. */
export function startGateChecks(
  ctx: Context,
  outbound: OutboundHttp,
  kinds: readonly CheckedUpgrades[],
): Pick<Poller, 'stop'> {
  const checks = kinds.map((kind) => createGateChecks(ctx, outbound, kind))
  const poller = startPoller({
    name: 'gate checks',
    ctx,
    intervalMs: INTERVAL_MS,
    async work(signal) {
      for (const ofKind of checks)
        // Each check that ends leaves its place to the next one.
        for (const call of await ofKind.begin(signal)) void call.then(() => poller.wake())
      return false
    },
  })
  return {
    async stop() {
      await poller.stop()
      await Promise.all(checks.map((ofKind) => ofKind.ended()))
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

/** Calls the checks of one kind of upgrades. */
export function createGateChecks(ctx: Context, outbound: OutboundHttp, kind: CheckedUpgrades): GateChecks {
  const calls = new Map<Promise<void>, string>()

  function begin(check: DueCheck, signal: AbortSignal): Promise<void> {
    const { url } = check
    const ended = url === null ? endWait(ctx, kind, check) : askCheck(ctx, kind, { check, url, outbound, signal })
    const call = ended
      .catch((error: unknown) => ctx.log.error({ err: error, upgrade_id: check.id }, 'A check of an upgrade failed'))
      .finally(() => calls.delete(call))
    calls.set(call, check.orgId)
    return call
  }

  return {
    async begin(signal) {
      const nowMs = ctx.serviceClock.nowMs()
      const due = await claimChecks(ctx.db, kind.rows, {
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

interface Call {
  readonly check: DueCheck
  readonly url: string
  readonly outbound: OutboundHttp
  readonly signal: AbortSignal
}

async function askCheck(ctx: Context, kind: CheckedUpgrades, { check, url, outbound, signal }: Call): Promise<void> {
  const { orgId, id, phase, of, attempt, total, upgraded, failed } = check
  const question = {
    org_id: orgId,
    upgrade_id: id,
    ...presentPhase({ phase, of: of ?? undefined }),
    total,
    upgraded,
    failed,
  }
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
  const verdict = decideCheck({ attempt, ...answer })
  await whileWaiting(ctx, kind, check, (tx, scope, hold) =>
    applyVerdict(ctx, tx, scope, { kind, check, verdict, hold }),
  )
}

/** Ends a wait for a time. If the clock was set back meanwhile, its instant may still be ahead. */
async function endWait(ctx: Context, kind: CheckedUpgrades, check: DueCheck): Promise<void> {
  await whileWaiting(ctx, kind, check, async (tx, scope, hold) => {
    const at = { now: ctx.clock.now(), nowMs: ctx.serviceClock.nowMs() }
    const endMs = waitEndMs(hold, at)
    await updateCheckDue(tx, check, kind.rows, endMs > at.nowMs ? endMs : null)
    if (endMs <= at.nowMs) await kind.endWait?.(tx, scope, { check, note: null, ...at })
  })
}

/** Runs `change` in a transaction unless the upgrade waits for this attempt no more. */
async function whileWaiting(
  ctx: Context,
  kind: CheckedUpgrades,
  check: DueCheck,
  change: (tx: Tx, scope: OrgScope, hold: UpgradeHold) => Promise<void>,
): Promise<void> {
  const scope = systemScope('rollout', check.orgId)
  await inTx(ctx, async (tx) => {
    const hold = await lockWaiting(tx, scope, kind.rows, check)
    if (hold !== null) await change(tx, scope, hold)
  })
}

interface Answered {
  readonly kind: CheckedUpgrades
  readonly check: DueCheck
  readonly hold: UpgradeHold
  readonly verdict: CheckVerdict
}

async function applyVerdict(
  ctx: Context,
  tx: Tx,
  scope: OrgScope,
  { kind, check, hold, verdict }: Answered,
): Promise<void> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  const { phase, of } = check
  await updateCheckDue(tx, check, kind.rows, verdict.kind === 'retry' ? nowMs + verdict.afterMs : null)
  if (verdict.kind === 'open') return kind.open(tx, scope, { check, note: verdict.note, now, nowMs })
  if (verdict.kind === 'retry') {
    const ended = endOf(phase, { of: hold.of, units: kind.units, isEmptied: check.isEmptied })
    return kind.replaceHold(tx, scope, check, { ...hold, reason: waitForCheck(ended, verdict.failure) })
  }
  // The check has decided, or never will: the pause is that of a gate from now on.
  const { reason } = verdict
  // The wait for absent devices is extended by the time of the check as well.
  const sinceMs = hold.since_ms
  const held = { by: 'gate', reason, since_s: epochS(now), since_ms: sinceMs, ...(of !== null && { of }) } as const
  await kind.replaceHold(tx, scope, check, held)
  await kind.appendHeld(tx, scope, check, { hold: held, now })
}
