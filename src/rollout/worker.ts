import { type OrgScope, systemScope } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTxByKeys } from '../platform/db.ts'
import { nextTurn } from '../platform/next-turn.ts'
import { type Poller, startPoller } from '../platform/poller.ts'
import { applyRounds } from './apply.ts'
import { findAbsence, findDisturbed } from './decide-grace.ts'
import { IN_FLIGHT_POLL_MS } from './decide-next.ts'
import type { Now } from './site-upgrade-now.ts'
import { type OrgRound, decideOrgUpgrade } from './decide-org-upgrade.ts'
import { decidePartly, postponeRead } from './decide-partly.ts'
import type { RolloutOptions } from './rollout.ts'
import { countRounds } from './metrics.ts'
import { listWitnesses, updateGrace } from './store-grace.ts'
import {
  type LockedSiteUpgrade,
  type SiteUpgradeClaim,
  claimSiteUpgrades,
  expediteSiteUpgrades,
  lockSiteUpgrades,
  lockOrgUpgrades,
} from './store.ts'
import { type TargetKey, listChangedTargets } from './store-targets.ts'

/**
 * A dead worker's claims of one round expire after this time, and a broken upgrade rests for as long. A round takes
 * milliseconds, a device minutes.
 */
const LEASE_MS = 10_000

/** Site upgrades of one organization that share a transaction. */
const SITE_UPGRADES_PER_ROUND = 50

/** Device messages come in bursts; a burst shares a round. */
const MIN_GAP_MS = 200
/** Clocks that a time server disciplines drift less between two rounds. */
const CLOCK_STEP_MS = 1000

/** Drives all upgrades. Any number of processes may run it: each claim belongs to one of them. */
export function startRollouts(ctx: Context, options: RolloutOptions): Poller {
  let offsetMs: number | null = null
  return startPoller({
    name: 'rollout',
    ctx,
    wake: 'rollouts',
    intervalMs: IN_FLIGHT_POLL_MS,
    minGapMs: MIN_GAP_MS,
    async work(signal, changed) {
      offsetMs = await followWallClock(ctx, offsetMs)
      // If the round fails, the next one that reads the whole upgrade reads the targets of these devices too.
      return advanceRollouts(ctx, options, signal, [...changed])
    },
  })
}

/**
 * Makes site upgrades due whose due times are wrong: after a start all of them, since a dead process may have leases;
 * after a change of the wall clock against service time those that wait for their start.
 * @param lastMs The last result; null at first.
 * @returns By how much the wall clock is ahead of service time.
 */
export async function followWallClock(ctx: Context, lastMs: number | null): Promise<number> {
  const nowMs = ctx.serviceClock.nowMs()
  const offsetMs = ctx.clock.now().getTime() - nowMs
  if (lastMs !== null && Math.abs(offsetMs - lastMs) < CLOCK_STEP_MS) return lastMs
  await expediteSiteUpgrades(ctx.db, nowMs, lastMs === null ? 'all' : 'queued')
  return offsetMs
}

/**
 * Advances every upgrade as far as possible now. It reads all targets of an upgrade that is due, and of any other one
 * the targets whose devices have changed, so that the cost of a round depends on the changes, not on the size of the
 * upgrade.
 * @param changed Ids of the devices that have changed since the last call. Without it every upgrade in flight is
 *   visited.
 * @returns Null: the next wake or interval is soon enough.
 */
export async function advanceRollouts(
  ctx: Context,
  options: RolloutOptions,
  signal: AbortSignal,
  changed?: readonly string[],
): Promise<null> {
  const startMs = ctx.serviceClock.nowMs()
  const dueBeforeMs = changed === undefined ? startMs + IN_FLIGHT_POLL_MS : startMs
  const changes = await inTxByKeys(ctx, (tx) => listChangedTargets(tx, changed ?? []))
  const look = { changes, mayRest: changed !== undefined }
  const seen = new Set<string>()
  while (!signal.aborted) {
    const nowMs = ctx.serviceClock.nowMs()
    const claims = await claimSiteUpgrades(ctx.db, {
      nowMs,
      dueBeforeMs,
      changed: [...new Set(changes.map(({ upgradeId }) => upgradeId))],
      seen: [...seen],
      leaseUntilMs: nowMs + LEASE_MS,
      limit: SITE_UPGRADES_PER_ROUND,
    })
    if (claims.length === 0) break
    for (const { id } of claims) seen.add(id)
    await advanceEach(ctx, claims, { options, look })
  }
  return null
}

interface Look {
  /** Targets that have changed, for upgrades that are not due. */
  readonly changes: readonly TargetKey[]
  /** Whole upgrades that take long to read may be read less often, because changes of their devices start rounds. */
  readonly mayRest: boolean
}

interface RoundOptions {
  readonly options: RolloutOptions
  readonly look: Look
}

/**
 * If a round fails, each of its site upgrades gets a separate round, so that a broken one does not delay the others. It
 * is retried when its lease ends.
 */
async function advanceEach(
  ctx: Context,
  claims: readonly SiteUpgradeClaim[],
  { options, look }: RoundOptions,
): Promise<void> {
  try {
    await advanceSiteUpgrades(ctx, claims, options, look)
  } catch (error) {
    if (claims.length === 1) {
      ctx.log.error({ err: error, claim: claims[0] }, 'a site upgrade could not be advanced')
      return
    }
    ctx.log.warn({ err: error, claims: claims.length }, 'a round failed; trying its site upgrades one by one')
    for (const claim of claims) await advanceEach(ctx, [claim], { options, look })
  }
}

/**
 * Runs one round of site upgrades of one organization, in one transaction. Claims that are no longer valid change
 * nothing.
 */
export async function advanceSiteUpgrades(
  ctx: Context,
  claims: readonly SiteUpgradeClaim[],
  options: RolloutOptions,
  { changes, mayRest }: Look = { changes: [], mayRest: false },
): Promise<void> {
  const [first] = claims
  if (first === undefined) return
  const scope = systemScope('rollout', first.orgId)
  const at = nowOf(ctx, options)
  const limits = {
    unsentSinceMs: at.nowMs - options.commandExpiryMs,
    stalledSinceMs: at.nowMs - options.stallMs,
    absentSinceMs: at.nowMs - options.offlineDeadlineMs,
    now: at.now,
  }
  const committed = await inTxByKeys(ctx, async (tx) => {
    const orgUpgrades = await lockOrgUpgrades(
      tx,
      scope,
      claims.map(({ orgUpgradeId }) => orgUpgradeId),
    )
    const startedMs = performance.now()
    const locked = await lockSiteUpgrades(tx, scope, { claims, changes, ...limits })
    const lookMs = performance.now() - startedMs
    // Of a large phase, each part of the round takes some dozens of milliseconds.
    await nextTurn()
    const decide = (siteUpgrades: readonly LockedSiteUpgrade[]): OrgRound<LockedSiteUpgrade>[] => {
      const byUpgrade = Map.groupBy(siteUpgrades, ({ orgUpgradeId }) => orgUpgradeId)
      return orgUpgrades
        .map((org) => decideOrgUpgrade(org, byUpgrade.get(org.id) ?? [], at))
        .map((round) => limitRound(round, { nowMs: at.nowMs, lookMs: mayRest ? lookMs : 0 }))
    }
    const rounds = decide(locked)
    const disturbed = await graceDisturbed(tx, scope, rounds, at)
    const graceUntilMs = at.nowMs + options.reconnectGraceMs
    const patient = locked.map((siteUpgrade) =>
      disturbed.has(siteUpgrade.id) ? Object.assign({}, siteUpgrade, { graceUntilMs }) : siteUpgrade,
    )
    const applied = disturbed.size === 0 ? rounds : decide(patient)
    await nextTurn()
    await applyRounds(tx, scope, applied, at)
    return applied
  })
  countRounds(ctx.metrics, committed, at)
}

/** Limits the decisions about upgrades of which the round has read only the changed targets. */
function limitRound(
  round: OrgRound<LockedSiteUpgrade>,
  look: { readonly nowMs: number; readonly lookMs: number },
): OrgRound<LockedSiteUpgrade> {
  const decisions = round.decisions.map(({ siteUpgrade, decision }) => ({
    siteUpgrade,
    decision: siteUpgrade.isDue ? postponeRead(decision, look) : decidePartly(siteUpgrade, decision, look.nowMs),
  }))
  return { ...round, decisions }
}

/**
 * Gives more time to site upgrades that would fail devices for their absence, if enough other devices lost their
 * connections to suggest a failure of the network.
 * @returns The ids of those site upgrades.
 */
async function graceDisturbed(
  tx: Tx,
  scope: OrgScope,
  rounds: readonly OrgRound<LockedSiteUpgrade>[],
  at: Now,
): Promise<ReadonlySet<string>> {
  const checks = rounds
    .flatMap(({ decisions }) => decisions)
    .flatMap(({ siteUpgrade, decision }) => findAbsence(siteUpgrade, decision, at) ?? [])
  if (checks.length === 0) return new Set()
  const witnesses = await listWitnesses(tx, scope, {
    sinceMs: Math.min(...checks.map(({ absentSinceMs }) => absentSinceMs)),
    versions: [...new Set(checks.flatMap(({ versions }) => versions))],
  })
  const disturbed = findDisturbed(checks, witnesses)
  if (disturbed.size > 0) await updateGrace(tx, scope, [...disturbed], at.nowMs + at.options.reconnectGraceMs)
  return disturbed
}

function nowOf({ clock, serviceClock }: Context, options: RolloutOptions): Now {
  const graceUntilMs = serviceClock.listeningSinceMs() + options.reconnectGraceMs
  return { now: clock.now(), nowMs: serviceClock.nowMs(), graceUntilMs, options }
}
