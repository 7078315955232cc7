import { type Json, type JsonObject, objectOf, rowsOf } from '../api.ts'
import { details, fields, reasonText, table, textOf, timeText } from '../output.ts'
import { type UpgradeKind, upgradeKinds } from './upgrade-kinds.ts'
import { hasEnded, progressOf, sitesOf } from './upgrade-progress.ts'

/** Returns the row of an upgrade in the list. */
export function listed(upgrade: JsonObject) {
  const { id, kind, created_time: createdTime, strategy, status, held, sites, counts, awaited = 0 } = upgrade
  const { total, success, failed, skipped } = objectOf(counts)
  return {
    id: id ?? null,
    name: upgrade['name'] ?? null,
    kind: kind ?? null,
    created_time: createdTime ?? null,
    version: versionText(upgrade),
    strategy: strategy ?? null,
    status: held === undefined ? (status ?? null) : holdText(objectOf(held)),
    sites: sites ?? null,
    targets: total ?? null,
    upgraded: success ?? null,
    failed: failed ?? null,
    skipped: skipped ?? null,
    awaited,
    end_time: upgrade['end_time'] ?? null,
    held_reason: held === undefined ? null : (objectOf(held)['reason'] ?? null),
    stop_reason: upgrade['stop_reason'] ?? null,
  }
}

type Listed = ReturnType<typeof listed>

/** Edge appliances have versions by service, or a distribution. */
function versionText({ target_version: version, versions, distro }: JsonObject): Json {
  if (version !== undefined) return version
  if (distro !== undefined) return distro
  const wanted = Object.entries(objectOf(versions)).filter(([, one]) => one !== 'current')
  return wanted.map(([service, one]) => `${service} ${textOf(one)}`).join(', ')
}

/** Names what an upgrade waits for in a word: a person has paused it, or it waits for a gate. */
function holdText({ by }: JsonObject): string {
  return by === 'user' ? 'paused' : 'waiting'
}

/** Returns why an upgrade waits, or why it was stopped; null: neither. */
function reasonOf({ held_reason: held, stop_reason: stopped }: Pick<Listed, 'held_reason' | 'stop_reason'>) {
  const reason = held ?? stopped
  return reason === null ? null : reasonText(reason)
}

export function listText(upgrades: readonly Listed[], width: number): string {
  const rows = upgrades.map((one) => ({
    ...one,
    created: timeText(one.created_time),
    ends: one.end_time === null ? null : timeText(one.end_time),
    reason: reasonOf(one),
  }))
  // Most upgrades have none of these.
  const rare = [
    ...(rows.some(({ name }) => name !== null) ? ['name'] : []),
    ...(rows.some(({ awaited }) => awaited !== 0) ? ['awaited'] : []),
    ...(rows.some(({ ends }) => ends !== null) ? ['ends'] : []),
    ...(rows.some(({ reason }) => reason !== null) ? ['reason'] : []),
  ]
  return table(
    fields('id', 'created', 'kind', 'version', 'status', 'sites', 'targets', 'upgraded', 'failed', 'skipped', ...rare),
    rows,
    width,
  )
}

/**
 * Adds to the state of an upgrade what the list says about it as a whole: what it awaits, its end, and why it waits or was stopped. The
 * sites of devices and routers have the former.
 */
export function withOverview(state: string, kind: UpgradeKind, overview: JsonObject): string {
  const { name, awaited = 0, end_time: end, held, stop_reason: reason } = overview
  return [
    state,
    ...(name === undefined ? [] : [`name: ${textOf(name)}`]),
    ...(kind === 'mxedge' && held !== undefined ? [`waiting: ${reasonText(objectOf(held)['reason'])}`] : []),
    ...(Number(awaited) > 0 ? [`awaits ${targetsText(Number(awaited), kind)} of other upgrades`] : []),
    ...(typeof end === 'number' && (Number(awaited) > 0 || !hasEnded(overview)) ? [`ends at ${timeText(end)}`] : []),
    ...(reason === undefined ? [] : [`stopped: ${reasonText(reason)}`]),
  ].join('\n')
}

/** Returns what an upgrade that has just been created does. */
export function startText(upgrade: JsonObject): string {
  const { total, counts } = progressOf('device', upgrade)
  const sites = sitesOf(upgrade)
  const notes = sites.flatMap(({ notes: ofSite }) => rowsOf(ofSite ?? []))
  return [
    `upgrade ${textOf(upgrade['id'])} ${startOf(sites)}: ${targetsText(total - counts.skipped)}`,
    ...(counts.skipped > 0 ? [`skipped: ${counts.skipped}, run the version already`] : []),
    ...reasonsText(
      'left out',
      notes.filter(({ mac }) => mac !== undefined),
    ),
    ...notesText([...rowsOf(upgrade['notes'] ?? []), ...notes.filter(({ mac }) => mac === undefined)]),
  ].join('\n')
}

/** Infinity without any site. A phase of a plan that waits for a window or a gate begins later than its sites start. */
function firstStart(sites: readonly JsonObject[]): number {
  return sites.reduce(
    (first, { start_time: start, begins_about: begins = start }) => Math.min(first, Number(begins)),
    Infinity,
  )
}

function startOf(sites: readonly JsonObject[]): string {
  const first = firstStart(sites)
  return Number.isFinite(first) && first * 1000 > Date.now() ? `starts at ${timeText(first)}` : 'began'
}

/** One line for each note; many sites may have the same. */
function notesText(notes: readonly JsonObject[]): string[] {
  return [...new Set(notes.map(({ reason }) => `note: ${reasonText(reason)}`))]
}

export function targetsText(count: number, kind: UpgradeKind = 'device'): string {
  return `${count} ${upgradeKinds[kind].unit}${count === 1 ? '' : 's'}`
}

/** Returns how many approvals are missing after one of them, as words behind others. @param upgrade As it was before. */
export function furtherText({ held }: JsonObject): string {
  const { approvals_missing: missing = 1 } = objectOf(held)
  const further = Number(missing) - 1
  return further < 1 ? '' : `, which waits for ${further} further approval${further === 1 ? '' : 's'}`
}

/** One line for each reason, with the number of its devices. */
export function reasonsText(what: string, devices: readonly JsonObject[]): string[] {
  const reasons = Map.groupBy(devices, ({ reason }) => reasonText(reason))
  return [...reasons].map(([reason, { length }]) => `${what}: ${length}, ${reason}`)
}

export function planText(plan: JsonObject, width: number): string {
  const { plan_id: planId, total, phases = [], skipped = [], notes = [], ends_about: end } = plan
  const rows = rowsOf(phases).map(({ percent, total: devices, sites = [] }, index) => ({
    phase: index + 1,
    percent: percent ?? null,
    devices: devices ?? null,
    sites: rowsOf(sites).length,
    first_start: timeText(firstStart(rowsOf(sites))),
  }))
  return [
    `${targetsText(Number(total))} would be upgraded${typeof end === 'number' ? `, until about ${timeText(end)}` : ''}`,
    table(fields('phase', 'percent', 'devices', 'sites', 'first_start'), rows, width),
    ...reasonsText('skipped', rowsOf(skipped)),
    ...notesText(rowsOf(notes).filter(({ mac }) => mac === undefined)),
    ...reasonsText(
      'note',
      rowsOf(notes).filter(({ mac }) => mac !== undefined),
    ),
    `start it by --plan ${textOf(planId)}`,
  ].join('\n')
}

/** Shows the appliances of an upgrade with their steps. */
export function appliancesText(targets: readonly JsonObject[], width: number): string {
  const rows = targets.map(({ name, mxedge_id: mxedgeId, status, phase, steps = [], reason }) => ({
    appliance: name ?? null,
    mxedge_id: mxedgeId ?? null,
    status: status ?? null,
    phase: phase ?? null,
    steps: rowsOf(steps).map(stepText).join(', '),
    reason: reasonText(reason),
  }))
  return table(fields('appliance', 'mxedge_id', 'status', 'phase', 'steps', 'reason'), rows, width)
}

function stepText({ service = 'distribution', from_version: from, to_version: to }: JsonObject): string {
  return [service, ...(from === undefined ? [] : [from, '->']), to].map(textOf).join(' ')
}

interface StateContext {
  /** Of sites, by their ids. */
  readonly names: ReadonlyMap<string, Json>
  /** The site whose part of the upgrade is shown; null: all of them. */
  readonly siteId: string | null
  readonly width: number
}

/** Shows when the devices of a site are upgraded by its settings, and what came of the last time. */
export function autoText({ next_time: next, last_time: last, reason, ...state }: JsonObject): string {
  return details({ ...state, next_time: timeText(next), last_time: timeText(last), reason: reasonText(reason) })
}

/** Shows the sites of an upgrade of devices or routers. */
export function stateText(
  kind: UpgradeKind,
  upgrade: JsonObject,
  { names, siteId: only, width }: StateContext,
): string {
  const units = `${upgradeKinds[kind].unit}s`
  const parts = upgrade['upgrades'] ?? [{ site_id: only, upgrade }]
  const rows = rowsOf(parts).map(({ site_id: siteId, upgrade: ofSite }) => {
    const { status, start_time: start, targets, held, stop_reason: reason } = objectOf(ofSite)
    const one: JsonObject = { upgrades: [{ upgrade: { targets: targets ?? {} } }] }
    const { total, counts } = progressOf(kind, one)
    return {
      site: names.get(textOf(siteId)) ?? null,
      site_id: siteId ?? null,
      status: status ?? null,
      start: timeText(start),
      [units]: total,
      upgraded: counts.upgraded,
      failed: counts.failed,
      reason: reasonText(objectOf(held)['reason'] ?? reason),
    }
  })
  return table(fields('site', 'site_id', 'status', 'start', units, 'upgraded', 'failed', 'reason'), rows, width)
}
