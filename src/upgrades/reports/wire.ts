import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS, roundToMs } from '../../platform/time/clock.ts'
import { decideWholeStatus } from '../../rollout/decide-whole-status.ts'
import { limitOf } from '../previews/plan-preview.ts'
import { statuses } from '../site/filters.ts'
import { RestoreReason } from '../targets/wire.ts'
import { offlineField, presentOffline } from '../wire.ts'
import { endsField, nameField, presentName } from '../wire-extensions.ts'
import { GateReply, presentGate, presentStartGate } from './wire-gates.ts'
import type { Downtime, ReportSummary, ReportedSite, ReportedUpgrade } from './report.ts'
import { DecisionReply, presentDecisions } from './wire-decisions.ts'
import { ReportDeviceReply } from './wire-devices.ts'

const Count = Type.Integer()
const Seconds = Type.Number()

/** CSV is also the default if the client accepts nothing else. */
export const ReportQuery = Type.Object({
  format: Type.Optional(Type.Enum(['json', 'csv'])),
  devices: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'false: the list of devices is empty; not with CSV, which has nothing else',
    }),
  ),
})

const DowntimeReply = named(
  'UpgradeDowntime',
  Type.Object({
    devices: Count,
    longest: Type.Number({ description: 'Seconds of the device that was down for longest' }),
    sum: Type.Number({ description: 'Seconds of all devices together' }),
    at_once: Type.Integer({ description: 'How many devices were down at the same time, at most' }),
    still_down: Type.Integer({ description: 'Devices that have not come back' }),
  }),
)

const phaseFields = {
  phase: Count,
  total: Count,
  upgraded: Count,
  failed: Count,
  under_way: Type.Integer({ description: 'Devices that have begun, and that have no result yet' }),
  cancelled: Count,
  opened_at: Type.Optional(
    Type.Number({ description: 'When its first devices could begin; missing: it has not opened' }),
  ),
  ended_at: Type.Optional(Type.Number({ description: 'When its last device had a result' })),
  duration: Type.Optional(Seconds),
  gate: Type.Optional(GateReply),
}

const downloadFields = {
  phase: Count,
  total: Count,
  downloaded: Type.Integer({ description: 'Devices that have got their image' }),
  failed: Type.Integer({ description: 'Devices that failed without it' }),
  opened_at: Type.Optional(
    Type.Number({ description: 'When its first devices could download; missing: it has not opened' }),
  ),
  gate: Type.Optional(GateReply),
}

const SiteReply = named(
  'UpgradeReportSite',
  Type.Object({
    site_id: Uuid,
    site_upgrade_id: Type.String({ format: 'uuid', description: 'The id of the upgrade at this site' }),
    site_name: Type.Optional(Type.String()),
    status: Type.Enum(statuses),
    reason: Type.Optional(Type.String()),
    total: Count,
    upgraded: Count,
    failed: Count,
    started_at: Type.Optional(Type.Number({ description: 'When the first device of the site began' })),
    ended_at: Type.Optional(Type.Number({ description: 'When the last device of the site had a result' })),
    downtime: DowntimeReply,
  }),
)

const Devices = Type.Integer()
const summaryFields = {
  upgrade_id: Uuid,
  site_upgrade_id: Type.Optional(
    Type.String({ format: 'uuid', description: 'The site upgrade that the report is limited to' }),
  ),
  ...nameField,
  status: Type.Enum([...statuses, 'running']),
  strategy: Type.String(),
  target_version: Type.String(),
  created_at: Timestamp,
  started_at: Type.Optional(Timestamp),
  ended_at: Type.Optional(Timestamp),
  duration: Type.Optional(Seconds),
  total: Count,
  upgraded: Count,
  failed: Count,
  skipped: Count,
  cancelled: Count,
  ...offlineField('devices'),
  downtime: DowntimeReply,
  versions: Type.Array(Type.Object({ from: Type.Optional(Type.String()), to: Type.String(), devices: Devices })),
  failures: Type.Array(
    Type.Object({ reason: Type.String(), restore_reason: Type.Optional(RestoreReason), devices: Devices }),
  ),
  stops_after_failures: Type.Union([Type.Integer(), Type.Null()], {
    description: 'the number of failures, in all phases together, that stops the upgrade; null: none does',
  }),
  left_out: Type.Array(Type.Object({ reason: Type.String(), devices: Devices }), {
    description: 'Why devices that were selected are not among those of the upgrade',
  }),
  ...endsField,
  /** Present if the start needs an approval. */
  start_gate: Type.Optional(GateReply),
  phases: Type.Array(named('UpgradeReportPhase', Type.Object(phaseFields))),
  downloads: Type.Array(named('UpgradeReportDownloads', Type.Object(downloadFields)), {
    description: 'Phases of the downloads; empty where devices download in those of their reboots',
  }),
  decisions: Type.Array(DecisionReply, {
    description: 'What persons, and the engine at gates and limits, have decided, by time',
  }),
  sites: Type.Array(SiteReply),
}

export const ReportReply = named(
  'UpgradeReport',
  Type.Object({
    ...summaryFields,
    devices: Type.Array(ReportDeviceReply, { description: 'Those left out come last' }),
  }),
)

const SummaryReply = Type.Object(summaryFields)

const noDowntime: Downtime = { devices: 0, longestS: 0, sumS: 0, atOnce: 0, stillDown: 0 }

function presentDowntime(downtime: Downtime | null): Static<typeof DowntimeReply> {
  const { devices, longestS, sumS, atOnce, stillDown } = downtime ?? noDowntime
  return { devices, longest: roundToMs(longestS), sum: roundToMs(sumS), at_once: atOnce, still_down: stillDown }
}

/** Presents everything but the devices. */
export function presentSummary(summary: ReportSummary): Static<typeof SummaryReply> {
  const { upgrade, sites, events } = summary
  const starts = events.filter(({ type }) => type === 'UPGRADE_SITE_STARTED')
  const [started] = starts
  const startsOfSites = new Map(starts.map(({ site_upgrade_id: id, timestamp }) => [id, timestamp]))
  const ended = endOf(sites)
  const startGate = presentStartGate(upgrade)
  const sum = (count: (site: ReportedSite) => number): number => sites.reduce((all, site) => all + count(site), 0)
  const upgraded = sum(({ counts }) => counts.upgraded + counts.staged + counts.snapshotting)
  const failed = sum(({ counts }) => counts.failed)
  return {
    upgrade_id: upgrade.orgUpgradeId,
    ...(upgrade.siteUpgradeId !== null && { site_upgrade_id: upgrade.siteUpgradeId }),
    ...presentName(upgrade.name),
    status: decideWholeStatus({
      runs: sites.some(({ finishedAt }) => finishedAt === null),
      statuses: sites.map(({ partStatus }) => partStatus),
      hasResults: upgraded + failed > 0,
    }),
    strategy: upgrade.strategy,
    target_version: upgrade.targetVersion,
    created_at: epochS(upgrade.createdAt),
    ...timesOf(started?.timestamp ?? null, ended),
    ...(upgrade.endS !== null && { end_time: upgrade.endS }),
    total: sum(({ total }) => total),
    upgraded,
    failed,
    skipped: sum(({ counts }) => counts.skipped),
    cancelled: sum(({ counts }) => counts.cancelled),
    ...presentOffline(summary.offline),
    downtime: presentDowntime(summary.downtime),
    versions: summary.versions.map(({ from, to, devices }) =>
      from === null ? { to, devices } : { from, to, devices },
    ),
    failures: summary.failures.map(({ reason, restoreReason, devices }) => ({
      reason: reason ?? 'unknown',
      ...(restoreReason !== null && { restore_reason: restoreReason }),
      devices,
    })),
    stops_after_failures: stopsAfter(upgrade),
    left_out: summary.leftOut.map(({ reason, devices }) => ({ reason, devices })),
    ...(startGate !== null && { start_gate: startGate }),
    phases: presentPhases(summary),
    downloads: presentDownloads(summary),
    decisions: presentDecisions(events),
    sites: sites.map((site) => presentSite(site, startsOfSites.get(site.id) ?? null)),
  }
}

/** The smallest number of failures that exceeds the percentage or the budget. */
function stopsAfter({ maxFailurePercentage, planned, failureBudget }: ReportedUpgrade): number | null {
  const limits = [limitOf(maxFailurePercentage, planned), failureBudget === null ? null : failureBudget + 1]
  const known = limits.filter((limit) => limit !== null)
  return known.length === 0 ? null : Math.min(...known)
}

/** The end of the last site; null while one runs. */
function endOf(sites: readonly ReportedSite[]): number | null {
  const ends = sites.map(({ finishedAt }) => (finishedAt === null ? Infinity : epochS(finishedAt)))
  const last = ends.reduce((latest, end) => Math.max(latest, end), -Infinity)
  return Number.isFinite(last) ? last : null
}

function timesOf(startedAt: number | null, endedAt: number | null) {
  return {
    ...(startedAt !== null && { started_at: startedAt }),
    ...(endedAt !== null && { ended_at: endedAt }),
    ...(startedAt !== null && endedAt !== null && { duration: roundToMs(Math.max(0, endedAt - startedAt)) }),
  }
}

/** By phase. The first one opens with the first site. Phases of single devices open without an event. */
function openingsOf(events: ReportSummary['events'], of: 'downloads' | undefined): ReadonlyMap<number, number> {
  const opened = new Map<number, number>()
  for (const { type, phase, phase_of: kind, timestamp } of events) {
    const isStart = type === 'UPGRADE_SITE_STARTED'
    const opens = isStart || (type === 'UPGRADE_PHASE_OPENED' && kind === of)
    // The start of a site names its phase of the reboots.
    const which = isStart && of === 'downloads' ? 1 : phase
    if (opens && which !== undefined && !opened.has(which)) opened.set(which, timestamp)
  }
  return opened
}

function presentDownloads(summary: ReportSummary): Static<typeof SummaryReply>['downloads'] {
  const { upgrade, downloads, events } = summary
  const { downloadGates: gates, currentDownloads, approvals } = upgrade
  const opened = openingsOf(events, 'downloads')
  const ended = downloads.map(({ phase, downloaded, failed }) => ({ phase, ended: downloaded + failed }))
  const openPhase = openPhaseOf(summary, { current: currentDownloads ?? 1, opened, phases: ended })
  return downloads.map(({ phase, total, downloaded, failed }) => {
    const at = opened.get(phase)
    const gate = presentGate({ gates, approvals, phase, of: 'downloads', openPhase })
    const counts = { phase, total, downloaded, failed }
    return Object.assign(counts, at === undefined ? {} : { opened_at: at }, gate === null ? {} : { gate })
  })
}

function presentPhases(summary: ReportSummary): Static<typeof SummaryReply>['phases'] {
  const { upgrade, phases, events } = summary
  const opened = openingsOf(events, undefined)
  const { gates, approvals, currentPhase: current } = upgrade
  const results = phases.map((one) => ({ phase: one.phase, ended: one.upgraded + one.failed }))
  const openPhase = openPhaseOf(summary, { current, opened, phases: results })
  return phases.map(({ phase, total, upgraded, failed, underWay, cancelled, endedAt }) => {
    const openedAt = opened.get(phase) ?? null
    // A phase that has lost all its devices ends as soon as it opens.
    const ended = total === 0 ? openedAt : endedAt && epochS(endedAt)
    const { started_at: start, ...rest } = timesOf(openedAt, ended)
    const counts = { phase, total, upgraded, failed, under_way: underWay, cancelled }
    const gate = presentGate({ gates, approvals, phase, openPhase })
    return Object.assign(counts, rest, start === undefined ? {} : { opened_at: start }, gate === null ? {} : { gate })
  })
}

/** The phases of the reboots or of the downloads. */
interface Phases {
  /** The last one whose devices may be commanded. */
  readonly current: number
  /** When they opened. */
  readonly opened: ReadonlyMap<number, number>
  /** How many devices of each have had a result. */
  readonly phases: readonly { readonly phase: number; readonly ended: number }[]
}

/**
 * Returns the last phase that has opened. One that was stopped may go through its other phases without opening them, and a
 * retry continues with all phases up to one that waits for its approval, whether or not they had opened before.
 */
function openPhaseOf({ sites, events }: ReportSummary, { current, opened, phases }: Phases): number {
  const isRetried = events.some(({ type }) => type === 'UPGRADE_RETRIED')
  if (!isRetried && sites.every(({ stopReason }) => stopReason === null)) return current
  const last = phases.findLast(({ phase, ended }) => opened.has(phase) || ended > 0)
  const next = phases.find(({ phase }) => phase > (last?.phase ?? 1))
  return Math.min(current, next === undefined ? Infinity : next.phase - 1)
}

function presentSite(site: ReportedSite, startedAt: number | null): Static<typeof SiteReply> {
  const { id, siteId, siteName, status, stopReason, total, counts, finishedAt, downtime } = site
  return {
    site_id: siteId,
    site_upgrade_id: id,
    ...(siteName !== null && { site_name: siteName }),
    status,
    ...(stopReason !== null && { reason: stopReason }),
    total,
    upgraded: counts.upgraded + counts.staged + counts.snapshotting,
    failed: counts.failed,
    ...(startedAt !== null && { started_at: startedAt }),
    ...(finishedAt !== null && { ended_at: epochS(finishedAt) }),
    downtime: presentDowntime(downtime),
  }
}
