import { type Metrics, metric } from '../../platform/process/prometheus.ts'
import { REFUSED, durationsS, phaseDurationsS } from '../../rollout/metrics.ts'
import { NOT_APPLIED, OFFLINE, type UpgradeHold } from '../../rollout/rollout.ts'
import { WINDOW_TOO_SHORT } from '../../rollout/targets/steps/decide-window.ts'
import type { DecidedRound } from './apply.ts'
import type { ReleasedMxedges } from './store-release.ts'
import { inFlightStates, isTerminal, terminalStates } from './upgrade.ts'

/** Reasons of the engine. Any other reason is the refusal of the agent, in its own words. */
const causes = [
  'no_reconnect',
  NOT_APPLIED,
  OFFLINE,
  'service_failed',
  'unresponsive',
  'unstable',
  WINDOW_TOO_SHORT,
] as const
const isCause: ReadonlySet<string> = new Set(causes)

/** An appliance waits or works in these, which is what an operator wants to know. */
const timedStates = ['downloading', ...inFlightStates] as const
const isTimed: ReadonlySet<string> = new Set(timedStates)

const appliancesEnded = metric({
  name: 'signalbox_mxedge_upgrade_appliances_ended_total',
  help: 'Edge appliances whose upgrade has ended, by result',
  kind: 'counter',
  labels: { result: terminalStates },
})
const appliancesFailed = metric({
  name: 'signalbox_mxedge_upgrade_appliances_failed_total',
  help: 'Edge appliances whose upgrade has failed, by cause',
  kind: 'counter',
  labels: { cause: [...causes, REFUSED] },
})
const stepSeconds = metric({
  name: 'signalbox_mxedge_upgrade_appliance_step_seconds',
  help: 'How long edge appliances were in a state, by the state that they left',
  kind: 'histogram',
  labels: { state: timedStates },
  buckets: durationsS,
})
const phaseSeconds = metric({
  name: 'signalbox_mxedge_upgrade_phase_seconds',
  help: 'How long phases of upgrades of edge appliances were open',
  kind: 'histogram',
  labels: {},
  buckets: phaseDurationsS,
})
const upgradesEnded = metric({
  name: 'signalbox_mxedge_upgrades_ended_total',
  help: 'Upgrades of edge appliances that have ended, by status',
  kind: 'counter',
  labels: { status: ['completed', 'failed', 'cancelled'] },
})

const holds = metric({
  name: 'signalbox_mxedge_upgrade_holds_total',
  help: 'Upgrades of edge appliances that the engine has held, by what they wait for',
  kind: 'counter',
  labels: { by: ['gate', 'approval', 'check', 'time'] },
})

/** Counts an upgrade that is held. */
export function countMxedgeHold(metrics: Metrics, { by }: Pick<UpgradeHold, 'by'>): void {
  metrics.add(holds, { by })
}

/** Counts what upgrades have lost outside of a round, once that is committed. */
export function countReleasedMxedges(metrics: Metrics, { appliances, ended }: ReleasedMxedges): void {
  metrics.add(appliancesEnded, { result: 'cancelled' }, appliances)
  for (const status of ended) metrics.add(upgradesEnded, { status })
}

/** Counts the results of rounds, once they are committed. @param nowMs The service time of the rounds. */
export function countMxedgeRounds(metrics: Metrics, rounds: readonly DecidedRound[], nowMs: number): void {
  for (const { upgrade, decision } of rounds) {
    for (const { target, state, reason } of decision.steps) {
      if (state !== target.state && isTimed.has(target.state))
        metrics.observe(stepSeconds, { state: target.state }, Math.max(0, nowMs - target.enteredMs) / 1000)
      if (isTerminal(state)) metrics.add(appliancesEnded, { result: state })
      if (state === 'failed') metrics.add(appliancesFailed, { cause: causeOf(reason) })
    }
    const { status, finishedAt, currentPhase, hold } = decision.upgrade
    if (upgrade.hold === null && hold !== null) countMxedgeHold(metrics, hold)
    if (finishedAt !== null) metrics.add(upgradesEnded, { status })
    if (upgrade.phaseOpenedMs !== null && (finishedAt !== null || currentPhase > upgrade.currentPhase))
      metrics.observe(phaseSeconds, {}, Math.max(0, nowMs - upgrade.phaseOpenedMs) / 1000)
  }
}

function causeOf(reason: string | null): string {
  return reason !== null && isCause.has(reason) ? reason : REFUSED
}
