import { type OrgScope, systemScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys } from '../../platform/database/db.ts'
import { type Poller, startPoller } from '../../platform/time/poller.ts'
import { type DecidedRound, applyRounds } from './apply.ts'
import { type Now, decideUpgrade } from './decide-upgrade.ts'
import { countMxedgeRounds } from './metrics.ts'
import { type UpgradesRead, replaceAbsent } from './store-exchange.ts'
import { listBusyClusters, listOrgsWithUpgrades, listTargets, lockRunningUpgrades, shareAppliances } from './store.ts'
import type { MxedgeUpgradeOptions } from './target.ts'

/** Appliances in flight change without a wake, as when they report a version. */
const POLL_MS = 1000
/** Agents come in bursts; a burst shares a round. */
const MIN_GAP_MS = 100
/** The pause after a failed round. */
const REST_MS = 10_000

/**
 * Drives the upgrades of edge appliances. Any number of processes may run it: a round locks the rows of the upgrades of
 * its organization.
 */
export function startMxedgeUpgrades(ctx: Context, options: MxedgeUpgradeOptions): Poller {
  const restingUntilMs = new Map<string, number>()
  return startPoller({
    name: 'mxedge-upgrades',
    ctx,
    wake: 'mxedges',
    intervalMs: POLL_MS,
    minGapMs: MIN_GAP_MS,
    async work(signal) {
      for (const orgId of await listOrgsWithUpgrades(ctx.db, ctx.clock.now())) {
        if (signal.aborted) return null
        const nowMs = ctx.serviceClock.nowMs()
        if ((restingUntilMs.get(orgId) ?? 0) > nowMs) continue
        restingUntilMs.delete(orgId)
        try {
          await advanceMxedgeUpgrades(ctx, orgId, options)
        } catch (error) {
          restingUntilMs.set(orgId, nowMs + REST_MS)
          ctx.log.error({ err: error, orgId }, 'upgrades of edge appliances could not be advanced')
        }
      }
      return null
    },
  })
}

/** Bounds the rounds of one call: each has an effect, and the next call continues. */
const MAX_ROUNDS = 100

/** Advances the upgrades of an organization as far as possible now. */
export async function advanceMxedgeUpgrades(ctx: Context, orgId: string, options: MxedgeUpgradeOptions): Promise<void> {
  const scope = systemScope('rollout', orgId)
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
    const at = nowOf(ctx, options)
    const decided = await inTxByKeys(ctx, (tx) => advanceRound(tx, scope, at))
    countMxedgeRounds(ctx.metrics, decided, at.nowMs)
    if (!decided.some(({ decision }) => decision.isDue)) return
  }
}

type RoundNow = Omit<Now, 'busyClusters'>

function nowOf({ clock, serviceClock }: Context, options: MxedgeUpgradeOptions): RoundNow {
  const graceUntilMs = serviceClock.listeningSinceMs() + options.reconnectGraceMs
  return { now: clock.now(), nowMs: serviceClock.nowMs(), graceUntilMs, options }
}

async function advanceRound(tx: Tx, scope: OrgScope, at: RoundNow): Promise<DecidedRound[]> {
  const upgrades = await lockRunningUpgrades(tx, scope, at.now)
  if (upgrades.length === 0) return []
  const read = async (): Promise<UpgradesRead> => ({ upgrades, targets: await listTargets(tx, scope, upgrades) })
  const planned = await read()
  let rounds = await decideRounds(tx, scope, (await replaceAbsent(tx, scope, planned, at)) ? await read() : planned, at)
  // Changes since the targets were read appear in the next read, and are then locked.
  while (!(await lockOrdered(tx, scope, rounds))) rounds = await decideRounds(tx, scope, await read(), at)
  await applyRounds(tx, scope, rounds, { ...at, busyClusters: new Set() })
  return rounds
}

async function decideRounds(
  tx: Tx,
  scope: OrgScope,
  { upgrades, targets }: UpgradesRead,
  at: RoundNow,
): Promise<DecidedRound[]> {
  const byUpgrade = Map.groupBy(targets, ({ upgradeId }) => upgradeId)
  const busy = await listBusyClusters(tx, scope)
  const commanded: { readonly upgradeId: string; readonly clusterId: string }[] = []
  const rounds: DecidedRound[] = []
  for (const upgrade of upgrades) {
    const others = [...busy, ...commanded].filter(({ upgradeId }) => upgradeId !== upgrade.id)
    const busyClusters = new Set(others.map(({ clusterId }) => clusterId))
    const decision = decideUpgrade({ ...upgrade, targets: byUpgrade.get(upgrade.id) ?? [] }, { ...at, busyClusters })
    rounds.push({ upgrade, decision })
    for (const { target, order } of decision.steps) {
      const clusterId = target.appliance?.clusterId ?? null
      if (order !== null && clusterId !== null) commanded.push({ upgradeId: upgrade.id, clusterId })
    }
  }
  return rounds
}

/** Locks the appliances that the rounds command. @returns False if one of them has changed since the rounds read it. */
async function lockOrdered(tx: Tx, scope: OrgScope, rounds: readonly DecidedRound[]): Promise<boolean> {
  const ordered = rounds.flatMap(({ decision }) => decision.steps.filter(({ order }) => order !== null))
  if (ordered.length === 0) return true
  const ids = ordered.map(({ target }) => target.mxedgeId)
  const present = await shareAppliances(tx, scope, ids)
  return ordered.every(({ target: { mxedgeId, registrationEpoch, siteId } }) => {
    const now = present.get(mxedgeId)
    return now !== undefined && now.registrationEpoch === registrationEpoch && now.siteId === siteId
  })
}
