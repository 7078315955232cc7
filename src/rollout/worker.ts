import { leastOf } from '../platform/extremes.ts'
import { type OrgScope, systemScope } from '../access/scope.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTxByKeys } from '../platform/database/db.ts'
import { saveMemoryFor } from '../platform/process/save-memory.ts'
import { nextTurn } from '../platform/queues/next-turn.ts'
import { type Poller, startPoller } from '../platform/time/poller.ts'
import { splitRows } from '../platform/database/split.ts'
import { applyRounds } from './rounds/apply.ts'
import { findAbsence, findDisturbed } from './grace/decide-grace.ts'
import { IN_FLIGHT_POLL_MS } from './rounds/decide-next.ts'
import type { Now, SiteUpgradeDecision } from './site-upgrade-now.ts'
import { type OrgRound, decideOrgUpgrade } from './rounds/decide-org-upgrade.ts'
import { decidePartly, postponeRead } from './rounds/decide-partly.ts'
import { type UnfinishedRead, decidePortion } from './rounds/decide-portion.ts'
import { type RolloutOptions, openCount } from './rollout.ts'
import { leavesMuchGarbage } from './rounds/decide-garbage.ts'
import { expediteWaits } from './gates/store-checks.ts'
import { countRounds } from './metrics.ts'
import { listWitnesses, updateGrace } from './grace/store.ts'
import { replaceAbsent } from './phases/store-absent.ts'
import {
  type LockedSiteUpgrade,
  type SiteUpgradeClaim,
  claimSiteUpgrades,
  expediteSiteUpgrades,
  lockSiteUpgrades,
  lockOrgUpgrades,
} from './store.ts'
import { type TargetKey, listChangedTargets } from './targets/store.ts'

/**
 * A dead worker's claims of one round expire after this time, and a broken upgrade rests for as long. A round takes
 * milliseconds, a device minutes.
 */
const LEASE_MS = 10_000

/** Site upgrades of one organization that share a transaction. */
const SITE_UPGRADES_PER_ROUND = 50

/**
 * Their targets, in relation to RolloutOptions.targetsPerRound. More, because those of later phases count too but are not read.
 */
const SHARED_TARGETS = 4

/** Device messages come in bursts; a burst shares a round. */
const MIN_GAP_MS = 200
/** In relation to RolloutOptions.targetsPerRound: a round of this many changed devices gains nothing if it waits for more. */
const FULL_PART = 0.5
/** Longer than V8 needs for a collection, and than it takes until the next full round. */
const SAVING_MS = 10_000
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
    fullAt: FULL_PART * options.targetsPerRound,
    async work(signal, changed) {
      offsetMs = await followWallClock(ctx, offsetMs)
      // If the round fails, the next one that reads the whole upgrade reads the targets of these devices too.
      return advanceRollouts(ctx, options, signal, [...changed])
    },
  })
}

/**
 * Makes site upgrades due whose due times are wrong: after a start all of them, since a dead process may have leases;
 * after a change of the wall clock against service time those that wait for their start. Either concerns gates that wait for an
 * instant too.
 * @param lastMs The last result; null at first.
 * @returns By how much the wall clock is ahead of service time.
 */
export async function followWallClock(ctx: Context, lastMs: number | null): Promise<number> {
  const nowMs = ctx.serviceClock.nowMs()
  const offsetMs = ctx.clock.now().getTime() - nowMs
  if (lastMs !== null && Math.abs(offsetMs - lastMs) < CLOCK_STEP_MS) return lastMs
  await expediteSiteUpgrades(ctx.db, nowMs, lastMs === null ? 'all' : 'queued')
  await expediteWaits(ctx.db, nowMs)
  return offsetMs
}

/**
 * Advances every upgrade as far as possible now. It reads all targets of an upgrade that is due, and of any other one
 * the targets whose devices have changed, so that the cost of a round depends on the changes, not on the size of the
 * upgrade. Many targets are read in several rounds: the devices of the first are commanded while those of the next are
 * decided about. After many changes, upgrades that are due come last, so that all changes cause a single read of them.
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
  const dueBeforeMs = ctx.serviceClock.nowMs() + (changed === undefined ? IN_FLIGHT_POLL_MS : 0)
  const unfinished = new Map<string, UnfinishedRead>()
  const portions = splitRows(changed ?? [], options.targetsPerRound)
  const areMany = portions.length > 1
  for (const portion of areMany ? [...portions, []] : [changed ?? []]) {
    if (signal.aborted) break
    const changes = await inTxByKeys(ctx, (tx) => listChangedTargets(tx, portion))
    const look = { changes, mayRest: changed !== undefined, unfinished }
    await advanceChanged(ctx, options, { signal, dueBeforeMs, onlyChanged: areMany && portion.length > 0, look })
  }
  return null
}

interface Advance {
  readonly signal: AbortSignal
  readonly dueBeforeMs: number
  /** True if the upgrades that are due follow later. */
  readonly onlyChanged: boolean
  readonly look: Look
}

async function advanceChanged(ctx: Context, options: RolloutOptions, { signal, look, ...claimed }: Advance) {
  const changed = [...new Set(look.changes.map(({ upgradeId }) => upgradeId))]
  const seen = new Set<string>()
  while (!signal.aborted) {
    const nowMs = ctx.serviceClock.nowMs()
    const claims = await claimSiteUpgrades(ctx.db, {
      ...claimed,
      nowMs,
      changed,
      seen: [...seen],
      leaseUntilMs: nowMs + LEASE_MS,
      limit: SITE_UPGRADES_PER_ROUND,
    })
    if (claims.length === 0) break
    for (const { id } of claims) seen.add(id)
    for (const part of splitClaims(claims, options)) await advanceEach(ctx, part, { options, look })
  }
}

/** Splits claims so that a transaction reads not many more targets of several site upgrades than of a single one. */
function splitClaims(claims: readonly SiteUpgradeClaim[], { targetsPerRound }: RolloutOptions): SiteUpgradeClaim[][] {
  const parts: SiteUpgradeClaim[][] = []
  let targets = Infinity
  for (const claim of claims) {
    const more = claim.isDue ? openCount(claim.counts) : 0
    targets += more
    if (targets > SHARED_TARGETS * targetsPerRound) {
      parts.push([])
      targets = more
    }
    parts.at(-1)?.push(claim)
  }
  return parts
}

interface Look {
  /** Targets that have changed, for upgrades that are not due. */
  readonly changes: readonly TargetKey[]
  /** Whole upgrades that take long to read may be read less often, because changes of their devices start rounds. */
  readonly mayRest: boolean
  /** By the ids of site upgrades: portions of their targets have been read. The rounds update it. */
  readonly unfinished: Map<string, UnfinishedRead>
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
 * nothing: where all those of an organization upgrade are invalid, none of its phases opens.
 */
export async function advanceSiteUpgrades(
  ctx: Context,
  claims: readonly SiteUpgradeClaim[],
  options: RolloutOptions,
  { changes, mayRest, unfinished }: Look = { changes: [], mayRest: false, unfinished: new Map() },
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
    gatewayNode: options.gatewayNode(),
  }
  const left = new Map<string, UnfinishedRead | null>()
  const committed = await inTxByKeys(ctx, async (tx) => {
    const orgUpgradeIds = claims.map(({ orgUpgradeId }) => orgUpgradeId)
    const orgUpgrades = await lockOrgUpgrades(tx, scope, orgUpgradeIds)
    const startedMs = performance.now()
    const reading = { orgUpgrades, targetsPerRound: options.targetsPerRound, unfinished }
    const read = () => lockSiteUpgrades(tx, scope, { claims, changes, ...reading, ...limits })
    const planned = await read()
    const locked = (await replaceAbsent(tx, scope, planned, at)) ? await read() : planned
    const lookMs = performance.now() - startedMs
    if (leavesMuchGarbage(orgUpgrades, locked, options)) saveMemoryFor(SAVING_MS, 'some')
    // Of a large phase, each part of the round takes some dozens of milliseconds.
    await nextTurn()
    const decide = (siteUpgrades: readonly LockedSiteUpgrade[]): OrgRound<LockedSiteUpgrade>[] => {
      const byUpgrade = Map.groupBy(siteUpgrades, ({ orgUpgradeId }) => orgUpgradeId)
      return orgUpgrades
        .filter(({ id }) => byUpgrade.has(id))
        .map((org) => decideOrgUpgrade(org, byUpgrade.get(org.id) ?? [], at))
        .map((round) => limitRound(round, { nowMs: at.nowMs, lookMs: mayRest ? lookMs : 0, left }))
    }
    const rounds = decide(locked)
    const disturbed = await graceDisturbed(tx, scope, rounds, at)
    const graceUntilMs = at.nowMs + options.reconnectGraceMs
    const patient = locked.map((siteUpgrade) =>
      disturbed.has(siteUpgrade.id) ? Object.assign({}, siteUpgrade, { graceUntilMs }) : siteUpgrade,
    )
    const applied = disturbed.size === 0 ? rounds : decide(patient)
    await nextTurn()
    await applyRounds(tx, scope, applied, { ...at, sent: { at: ctx.clock.now(), atMs: ctx.serviceClock.nowMs() } })
    return applied
  })
  for (const [id, read] of left) {
    if (read === null) unfinished.delete(id)
    else unfinished.set(id, read)
  }
  countRounds(ctx.metrics, committed, at)
}

interface RoundLimits {
  readonly nowMs: number
  readonly lookMs: number
  /** Receives the reads that are to continue; null: they are complete. */
  readonly left: Map<string, UnfinishedRead | null>
}

/** Limits the decisions about upgrades of which the round has read only the changed targets, or a portion. */
function limitRound(round: OrgRound<LockedSiteUpgrade>, limits: RoundLimits): OrgRound<LockedSiteUpgrade> {
  const decisions = round.decisions.map(({ siteUpgrade, decision }) => ({
    siteUpgrade,
    decision: limitDecision(siteUpgrade, decision, limits),
  }))
  return { ...round, decisions }
}

function limitDecision(
  siteUpgrade: LockedSiteUpgrade,
  decision: SiteUpgradeDecision,
  { nowMs, lookMs, left }: RoundLimits,
): SiteUpgradeDecision {
  if (!siteUpgrade.isDue) return decidePartly(siteUpgrade, decision, nowMs)
  if (siteUpgrade.portion === null) {
    left.set(siteUpgrade.id, null)
    return postponeRead(decision, { nowMs, lookMs })
  }
  const limited = decidePortion(siteUpgrade, siteUpgrade.portion, { decision, nowMs, lookMs })
  left.set(siteUpgrade.id, limited.unfinished)
  return limited.decision
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
    sinceMs: leastOf(checks.map(({ absentSinceMs }) => absentSinceMs)),
    versions: [...new Set(checks.flatMap(({ versions }) => versions))],
  })
  const disturbed = findDisturbed(checks, witnesses)
  if (disturbed.size > 0) await updateGrace(tx, scope, [...disturbed], at.nowMs + at.options.reconnectGraceMs)
  return disturbed
}

function nowOf({ clock, serviceClock, crowding }: Context, options: RolloutOptions): Now {
  const graceUntilMs = serviceClock.listeningSinceMs() + options.reconnectGraceMs
  return { now: clock.now(), nowMs: serviceClock.nowMs(), graceUntilMs, crowdedMs: crowding.lastMs(), options }
}
