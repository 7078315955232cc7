import { type Json, type JsonObject, objectOf, rowsOf } from '../api.ts'
import { fields, table, textOf, timeText } from '../output.ts'
import { progressOf } from './watch-upgrade.ts'

/** Returns the row of an upgrade in the list. */
export function listed(upgrade: JsonObject) {
  const { id, created_time: createdTime, target_version: version, strategy, status, held } = upgrade
  const { total, upgraded, failed, site_upgrades: sites = [] } = upgrade
  return {
    id: id ?? null,
    created_time: createdTime ?? null,
    version: version ?? null,
    strategy: strategy ?? null,
    status: held === undefined ? (status ?? null) : holdText(objectOf(held)),
    sites: rowsOf(sites).length,
    devices: total ?? null,
    upgraded: upgraded ?? null,
    failed: failed ?? null,
  }
}

/** Names what an upgrade waits for in a word: a person has paused it, or it waits for a gate. */
function holdText({ by }: JsonObject): string {
  return by === 'user' ? 'paused' : 'waiting'
}

export function listText(upgrades: readonly ReturnType<typeof listed>[], width: number): string {
  const rows = upgrades.map((one) => ({ ...one, created: timeText(one.created_time) }))
  return table(fields('id', 'created', 'version', 'status', 'sites', 'devices', 'upgraded', 'failed'), rows, width)
}

/** What an upgrade does that has just been created. */
export function startText(upgrade: JsonObject): string {
  const { total, counts } = progressOf(upgrade)
  const sites = rowsOf(upgrade['upgrades'] ?? []).map(({ upgrade: ofSite }) => objectOf(ofSite))
  const notes = sites.flatMap(({ notes: ofSite }) => rowsOf(ofSite ?? []))
  return [
    `upgrade ${textOf(upgrade['id'])} ${startOf(sites)}: ${devicesText(total - counts.skipped)}`,
    ...(counts.skipped > 0 ? [`skipped: ${counts.skipped}, run the version already`] : []),
    ...reasonsText(
      'left out',
      notes.filter(({ mac }) => mac !== undefined),
    ),
    ...notesText([...rowsOf(upgrade['notes'] ?? []), ...notes.filter(({ mac }) => mac === undefined)]),
  ].join('\n')
}

/** Infinity without any site. */
function firstStart(sites: readonly JsonObject[]): number {
  return sites.reduce((first, { start_time: start }) => Math.min(first, Number(start)), Infinity)
}

function startOf(sites: readonly JsonObject[]): string {
  const first = firstStart(sites)
  return Number.isFinite(first) && first * 1000 > Date.now() ? `starts at ${timeText(first)}` : 'began'
}

/** One line for each note; many sites may have the same. */
function notesText(notes: readonly JsonObject[]): string[] {
  return [...new Set(notes.map(({ reason }) => `note: ${textOf(reason)}`))]
}

export function devicesText(count: number): string {
  return count === 1 ? '1 device' : `${count} devices`
}

/** One line for each reason, with the number of its devices. */
export function reasonsText(what: string, devices: readonly JsonObject[]): string[] {
  const reasons = Map.groupBy(devices, ({ reason }) => textOf(reason))
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
    `${devicesText(Number(total))} would be upgraded${typeof end === 'number' ? `, until about ${timeText(end)}` : ''}`,
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

export function stateText(upgrade: JsonObject, names: ReadonlyMap<string, Json>, width: number): string {
  const rows = rowsOf(upgrade['upgrades'] ?? []).map(({ site_id: siteId, upgrade: ofSite }) => {
    const { status, start_time: start, targets, held, stop_reason: reason } = objectOf(ofSite)
    const one: JsonObject = { upgrades: [{ upgrade: { targets: targets ?? {} } }] }
    const { total, counts } = progressOf(one)
    return {
      site: names.get(textOf(siteId)) ?? null,
      site_id: siteId ?? null,
      status: status ?? null,
      start: timeText(start),
      devices: total,
      upgraded: counts.upgraded,
      failed: counts.failed,
      reason: objectOf(held)['reason'] ?? reason ?? null,
    }
  })
  return table(fields('site', 'site_id', 'status', 'start', 'devices', 'upgraded', 'failed', 'reason'), rows, width)
}
