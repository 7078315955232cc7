import { type Metrics, metric } from '../platform/process/prometheus.ts'
import type { Now } from './site-upgrade-now.ts'
import { type OrgRound, findOrgHold } from './rounds/decide-org-upgrade.ts'
import { decideOutage } from './targets/decide-outage.ts'
import { isHealthReason } from './targets/health/decide-health.ts'
import { WINDOW_TOO_SHORT } from './targets/steps/decide-window.ts'
import type { Step } from './rounds/decide-step.ts'
import {
  DOWNLOAD_REFUSED,
  NOT_APPLIED,
  OFFLINE,
  type UpgradeHold,
  inFlightStates,
  isInFlight,
  isTerminal,
  terminalStates,
} from './rollout.ts'
import type { LockedSiteUpgrade } from './store.ts'

/** Stands for all reasons of a device that works worse than before. */
const HEALTH = 'health'

/** Reasons of the engine. Any other reason of a failed target is the device's refusal, in its own words. */
const causes = [
  OFFLINE,
  'connection_lost',
  DOWNLOAD_REFUSED,
  HEALTH,
  'members_behind',
  'no_reconnect',
  'not_activated',
  NOT_APPLIED,
  'not_staged',
  'rollback_failed',
  'rolled_back',
  'rolled_back_unstable',
  'unresponsive',
  'unstable',
  WINDOW_TOO_SHORT,
] as const
/** Stands for all refusals. */
export const REFUSED = 'refused'
const isCause: ReadonlySet<string> = new Set(causes)

const MINUTE_S = 60
/** The buckets of what a device, or an edge appliance, does. */
export const durationsS = [10, 30, MINUTE_S, 2 * MINUTE_S, 5 * MINUTE_S, 10 * MINUTE_S, 20 * MINUTE_S, 3600, 4 * 3600]
/** The buckets of phases. */
export const phaseDurationsS = [...durationsS, 24 * 3600, 72 * 3600]

const devicesEnded = metric({
  name: 'signalbox_upgrade_devices_ended_total',
  help: 'Devices whose upgrade has ended, by result',
  kind: 'counter',
  labels: { result: terminalStates },
})
const devicesFailed = metric({
  name: 'signalbox_upgrade_devices_failed_total',
  help: 'Devices whose upgrade has failed, by cause',
  kind: 'counter',
  labels: { cause: [...causes, REFUSED] },
})
const attemptsFailed = metric({
  name: 'signalbox_upgrade_attempts_failed_total',
  help: 'Attempts of devices that failed, by cause; another attempt follows',
  kind: 'counter',
  labels: { cause: [...causes, REFUSED] },
})
const stepSeconds = metric({
  name: 'signalbox_upgrade_device_step_seconds',
  help: 'How long devices were in a state, by the state that they left',
  kind: 'histogram',
  labels: { state: inFlightStates },
  buckets: durationsS,
})
const downSeconds = metric({
  name: 'signalbox_upgrade_device_down_seconds',
  help: 'For how long a reboot took devices down that came back',
  kind: 'histogram',
  labels: {},
  buckets: durationsS,
})
const phaseSeconds = metric({
  name: 'signalbox_upgrade_site_phase_seconds',
  help: 'How long phases were open, at each site',
  kind: 'histogram',
  labels: {},
  buckets: phaseDurationsS,
})
const sitesEnded = metric({
  name: 'signalbox_upgrade_sites_ended_total',
  help: 'Upgrades that have ended at a site, by status',
  kind: 'counter',
  labels: { status: ['completed', 'failed', 'cancelled'] },
})
const holds = metric({
  name: 'signalbox_upgrade_holds_total',
  help: 'Upgrades that the engine has held, by what they wait for',
  kind: 'counter',
  labels: { by: ['gate', 'approval', 'check', 'time'] },
})

/** Counts an upgrade that is held. */
export function countHold(metrics: Metrics, { by }: Pick<UpgradeHold, 'by'>): void {
  metrics.add(holds, { by })
}

/** Counts the results of rounds, once they are committed. */
export function countRounds(metrics: Metrics, rounds: readonly OrgRound<LockedSiteUpgrade>[], at: Now): void {
  for (const round of rounds) {
    const held = findOrgHold(round)
    if (held !== null) countHold(metrics, held.hold)
    for (const { siteUpgrade, decision } of round.decisions) {
      for (const step of decision.steps) countStep(metrics, step, at)
      const { status, finishedAt, hold, currentPhase } = decision.siteUpgrade
      if (siteUpgrade.hold === null && hold !== null) countHold(metrics, hold)
      if (finishedAt !== null) metrics.add(sitesEnded, { status })
      if (siteUpgrade.phaseOpenedMs !== null && (finishedAt !== null || currentPhase > siteUpgrade.currentPhase))
        metrics.observe(phaseSeconds, {}, (at.nowMs - siteUpgrade.phaseOpenedMs) / 1000)
    }
  }
}

/** Counts the devices that upgrades have lost outside of a round, once that is committed. */
export function countReleasedDevices(metrics: Metrics, devices: number): void {
  metrics.add(devicesEnded, { result: 'cancelled' }, devices)
}

function countStep(metrics: Metrics, step: Step, at: Now): void {
  const { target, to, reason } = step
  if (to !== target.state && isInFlight(target.state))
    metrics.observe(stepSeconds, { state: target.state }, Math.max(0, at.nowMs - target.enteredMs) / 1000)
  if (isTerminal(to)) metrics.add(devicesEnded, { result: to })
  if (to === 'failed') metrics.add(devicesFailed, { cause: causeOf(reason) })
  // A command that goes out in the same state ends no attempt.
  else if (to === target.state && reason !== null) metrics.add(attemptsFailed, { cause: causeOf(reason) })
  const outage = decideOutage(step, at)
  if (outage !== null && outage.upAt !== null)
    metrics.observe(downSeconds, {}, (outage.upAt.getTime() - outage.downAt.getTime()) / 1000)
}

function causeOf(reason: string | null): string {
  if (reason === null) return REFUSED
  if (isHealthReason(reason)) return HEALTH
  return isCause.has(reason) ? reason : REFUSED
}
