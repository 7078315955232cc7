import { counted } from '../../display/texts/counted.ts'
import { clockTime } from '../../display/times/times.ts'
import { windowTexts } from '../../orgs/maintenance-windows.ts'
import { kinds } from '../overview.ts'
import { type Draft, type Part, isOne, settle, sitesOf } from './draft.ts'
import { type Plan, siteIdsOf } from './plan.ts'
import { type PhaseGate, gatesIn, requestOf } from './request.ts'

const verbs: Readonly<Record<Part | 'both', string>> = {
  both: 'Upgrades',
  download: 'Downloads the version to',
  reboot: 'Reboots',
}

/** Returns what the upgrade does with how many, such as "Upgrades 2 routers in 1 phase". */
export function planText(draft: Draft, { total, phases }: Plan): string {
  const { kind, part = 'both' } = settle(draft)
  const verb = verbs[kind === 'ssr' ? part : 'both']
  return `${verb} ${counted(total, kinds[kind].unit)} in ${counted(phases.length, 'phase')}`
}

/** Returns in a sentence after another one how many pass over versions; empty if none does. */
export function passingText({ passing }: Pick<Plan, 'passing'>, unit: string): string {
  if (passing === 0) return ''
  const restart = passing === 1 ? 'restarts' : 'restart'
  return ` ${counted(passing, unit)} ${restart} more than once, to pass over versions in between.`
}

/** Returns the gates of a draft at which an upgrade by the plan waits: nothing is awaited after a phase without devices, or the last one. */
export function gatesOfPlan(draft: Draft, { phases }: Pick<Plan, 'phases'>): readonly PhaseGate[] {
  const numbers = new Set(phases.map(({ number }) => number))
  const last = Math.max(...numbers)
  return gatesIn(draft).filter(({ phase }) => phase === 0 || (numbers.has(phase) && phase < last))
}

/** Returns in a sentence which phases are left out; null if none is. */
export function emptyPhasesText(draft: Draft, { emptyPhases: [first, ...others] }: Plan): string | null {
  if (first === undefined) return null
  const { unit } = kinds[settle(draft).kind]
  const last = others.pop()
  const numbers = last === undefined ? `Phase ${first} has` : `Phases ${[first, ...others].join(', ')} and ${last} have`
  return `${numbers} no ${unit}: the upgrade passes over ${last === undefined ? 'it' : 'them'}, and waits for nothing after ${last === undefined ? 'it' : 'them'}.`
}

/**
 * Returns in sentences what is downloaded before the phases, what a draft has chosen for others than those of the plan, and for its times.
 * @param zone That of the times. Default: the zone of the viewer.
 */
export function optionTexts(
  draft: Draft,
  plan: Pick<Plan, 'phases' | 'downloading'>,
  zone?: string,
): readonly string[] {
  const { kind, body } = requestOf(draft)
  const { unit } = kinds[kind]
  const { end_time: end, maintenance_windows: windows } = body
  const texts = isOne(draft)
    ? {
        isLeft: `the ${unit} is left if it has not begun by then`,
        takeover: `Takes over the ${unit} if another upgrade has not begun with it.`,
      }
    : {
        isLeft: `each ${unit} that has not begun by then is left`,
        takeover: `Takes over each ${unit} that another upgrade has not begun with.`,
      }
  return [
    ...downloadTexts(plan, unit),
    ...gateTexts(gatesOfPlan(draft, plan), zone),
    ...(end === undefined ? [] : [`Ends on ${clockTime(end, zone)}: ${texts.isLeft}.`]),
    ...(body.supersede === true ? [texts.takeover] : []),
    ...('include_new' in body && body.include_new
      ? [`Until it ends, each ${unit} that joins later is upgraded too.`]
      : []),
    ...(windows === undefined
      ? []
      : windows.length === 0
        ? [`Begins at any time, whatever the maintenance windows of ${sitesOf(draft)}.`]
        : [`Begins only within ${windowTexts(windows).join('; ')}, on the clocks of ${sitesOf(draft)}.`]),
  ]
}

function downloadTexts({ downloading }: Pick<Plan, 'downloading'>, unit: string): readonly string[] {
  if (downloading === 0) return []
  const [download, restart] =
    downloading === 1 ? ['downloads', 'restarts in its phase'] : ['download', 'restart in their phases']
  return [`${counted(downloading, unit)} ${download} the version at the beginning already, and ${restart}.`]
}

/** Phases with the same gate follow each other, except those that only have a time. */
function gateTexts(gates: readonly PhaseGate[], zone: string | undefined): readonly string[] {
  const waiting = gates.filter(({ wait_for: wait, minutes }) => wait !== 'time' || minutes !== undefined)
  const groups = Map.groupBy(waiting, ({ phase, wait_for: wait }) => (phase === 0 ? 'start' : wait))
  const texts = [...groups.values()].flatMap((group) => {
    const [gate] = group
    return gate === undefined ? [] : [gateText(gate, group.at(-1)?.phase ?? gate.phase)]
  })
  const times = gates.flatMap(({ phase, not_before: at }) =>
    at === undefined ? [] : [`Phase ${phase + 1} begins on ${clockTime(at, zone)} at the earliest.`],
  )
  return [...texts, ...times]
}

/** @param last The last of the phases with this gate. */
function gateText(gate: PhaseGate, last: number): string {
  const { phase, wait_for: wait, minutes = 0 } = gate
  if (phase === 0) return `Begins once ${approversOf(gate)} approved it.`
  const after = `after ${phase === last ? `phase ${phase}` : `each of the phases ${phase} to ${last}`}`
  if (wait === 'time') return `Waits for ${counted(minutes, 'minute')} ${after}.`
  return `Goes on ${after} once ${approversOf(gate)} approved it.`
}

function approversOf({ approvals = 1, prevent_self_approval: byAnother = false }: PhaseGate): string {
  if (approvals === 1) return byAnother ? 'another person has' : 'a person has'
  return `${approvals} ${byAnother ? 'other ' : ''}people have`
}

/** Returns the effect of the start. @param zone As in optionTexts(). */
export function startEffect(draft: Draft, plan: Plan, zone?: string): string {
  return [actionText(draft, plan), ...optionTexts(draft, plan, zone)].join(' ')
}

function actionText(draft: Draft, { total, phases }: Plan): string {
  const { kind, part } = settle(draft)
  const inPhases = `in ${counted(phases.length, 'phase')}.`
  const upgraded = counted(total, kinds[kind].unit)
  if (kind === 'mxedge') return `Upgrades ${upgraded}, ${inPhases}`
  const sites = new Set(siteIdsOf({ phases }))
  const atSites = `${upgraded} at ${counted(sites.size, 'site')}, ${inPhases}`
  if (kind === 'ssr' && part === 'download')
    return `Downloads the version to ${atSites} ${total === 1 ? 'It does not reboot' : 'None of them reboots'}.`
  if (kind === 'ssr' && part === 'reboot')
    return `Reboots ${atSites} ${total === 1 ? 'It has' : 'They have'} downloaded the version before.`
  return `Upgrades and restarts ${atSites}`
}
