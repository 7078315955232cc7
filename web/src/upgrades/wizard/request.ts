import type { Schemas } from '../../api/client.ts'
import { windowsIn } from '../../orgs/maintenance-windows.ts'
import { kinds } from '../overview.ts'
import { type Draft, type SettledDraft, forms, mayInclude, numbersIn, percentsOf, settle } from './draft.ts'

/** What requests of an organization and of a site have alike. */
type DeviceRequest = Omit<Schemas['OrgUpgradeCreate'], 'all_sites' | 'site_ids'>
export type PhaseGate = Schemas['UpgradePhaseGate']

/** The request of an upgrade with its kind, and with its site if it is not one of the organization. */
export type UpgradeRequest =
  | { readonly kind: 'device'; readonly siteId?: undefined; readonly body: Schemas['OrgUpgradeCreate'] }
  | { readonly kind: 'device'; readonly siteId: string; readonly body: Schemas['SiteUpgradeCreate'] }
  | { readonly kind: 'ssr'; readonly siteId?: undefined; readonly body: Schemas['SsrUpgradeCreate'] }
  | RouterRequest
  | { readonly kind: 'mxedge'; readonly siteId?: string | undefined; readonly body: Schemas['MxedgeUpgradeCreate'] }

interface RouterRequest {
  readonly kind: 'ssr'
  readonly siteId: string
  readonly deviceId: string
  readonly body: Schemas['SsrRouterUpgradeCreate']
}

/** Returns the path of a request below /api/v1. */
export function pathOf(request: UpgradeRequest, orgId: string): string {
  const { kind, siteId } = request
  if (siteId === undefined) return `/orgs/${orgId}${kinds[kind].path}`
  return `/sites/${siteId}${'deviceId' in request ? `/ssr/${request.deviceId}/upgrade` : kinds[kind].path}`
}

/**
 * Returns the rules of a text, one from each line: conditions such as `match_name[0:3]=lab, match_model=EAP102`. What is
 * no condition, or a second one of the same name, gets a name that the server refuses.
 */
export function rulesIn(text: string): Record<string, string>[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(ruleOf)
}

function ruleOf(line: string): Record<string, string> {
  const rule = new Map<string, string>()
  for (const condition of line.split(',')) {
    const [name = '', ...value] = condition.trim().split('=')
    rule.set(rule.has(name) ? `${name} (twice)` : name, value.join('='))
  }
  return Object.fromEntries(rule)
}

/**
 * Returns the request of a draft. An item that is not a number or a time becomes null, which the server refuses by the name
 * of the field.
 * @param memberIds All routers, which a request names one by one.
 */
export function requestOf(draft: Draft, memberIds: readonly string[] = []): UpgradeRequest {
  const settled = settle(draft)
  const { kind, siteId, ids = [], sites } = settled
  if (kind === 'mxedge') return { kind, ...(siteId !== undefined && { siteId }), body: applianceRequest(settled) }
  if (siteId === undefined) {
    if (kind === 'ssr') return { kind, body: routersRequest(settled, memberIds) }
    const where = sites === undefined ? { all_sites: true } : { site_ids: [...sites] }
    return { kind, body: { ...where, ...deviceRequest(settled) } }
  }
  if (kind === 'ssr') return { kind, siteId, deviceId: ids[0] ?? memberIds[0] ?? '', body: routerRequest(settled) }
  // Without it, a site only installs the version on what is no access point.
  return { kind, siteId, body: { ...deviceRequest(settled), reboot: true } }
}

function deviceRequest(settled: SettledDraft): DeviceRequest {
  const { type, models, rules = '', start, strategy, version } = settled
  return {
    ...(type !== undefined && { device_type: type }),
    ...(models !== undefined && { models: [...models] }),
    ...(rules.trim() !== '' && { rules: rulesIn(rules) }),
    versions: [version],
    ...(isGiven(start) && { start_datetime: start }),
    ...commonFieldsOf(settled),
    ...inclusionOf(settled),
    reboot_strategy: strategy,
    ...limitsOf(settled),
    ...gatesOf(settled),
    ...(strategy === 'rrm' && {
      rrm_first_batch_percentage: Number(settled.first),
      rrm_max_batch_percentage: Number(settled.most),
      rrm_node_order: settled.order,
    }),
  }
}

function routersRequest(settled: SettledDraft, memberIds: readonly string[]): Schemas['SsrUpgradeCreate'] {
  const { ids = memberIds, strategy } = settled
  return {
    device_ids: [...ids],
    ...routerRequest(settled),
    ...inclusionOf(settled),
    strategy: strategy === 'serial' ? 'serial' : 'big_bang',
  }
}

function routerRequest(settled: SettledDraft): Schemas['SsrRouterUpgradeCreate'] {
  return { version: settled.version, ...timesOf(settled), ...commonFieldsOf(settled), ...gatesOf(settled) }
}

/** Returns the times of the download and of the reboot of routers; -1 leaves one of them out. */
function timesOf({ part, start, reboot }: SettledDraft) {
  return {
    ...(part === 'reboot' ? { start_time: -1 } : isGiven(start) && { start_time: epochOf(start) }),
    ...(part === 'download' ? { reboot_at: -1 } : isGiven(reboot) && { reboot_at: epochOf(reboot) }),
  }
}

function applianceRequest(settled: SettledDraft): Schemas['MxedgeUpgradeCreate'] {
  const { ids, services = {}, channel, downgrades, distro, start, strategy } = settled
  const allowed = Object.fromEntries(Object.keys(services).map((service) => [service, true]))
  return {
    ...(ids !== undefined && { mxedge_ids: [...ids] }),
    ...(isGiven(distro)
      ? { distro }
      : { channel, versions: { ...services }, ...(downgrades !== undefined && { allow_downgrades: allowed }) }),
    ...(isGiven(start) && { start_time: epochOf(start) }),
    ...commonFieldsOf(settled),
    ...inclusionOf(settled),
    // Appliances have no radios: settle() leaves them no batches by radio neighborhood.
    strategy: strategy === 'rrm' ? 'canary' : strategy,
    ...limitsOf(settled),
    ...gatesOf(settled),
  }
}

/** Returns the fields that upgrades of all kinds have, and only those that differ from the defaults. */
function commonFieldsOf(settled: SettledDraft) {
  const { name = '', takeover, hours, windows = '', end } = settled
  return {
    ...(name.trim() !== '' && { name: name.trim() }),
    ...(isGiven(end) && { end_time: epochOf(end) }),
    ...(hours === 'any' && { maintenance_windows: [] }),
    ...(hours === 'own' && { maintenance_windows: ownWindows(windows) }),
    ...(takeover !== undefined && { supersede: true }),
  }
}

function inclusionOf(settled: SettledDraft) {
  return settled.inclusion !== undefined && mayInclude(settled) ? { include_new: true } : {}
}

/** No line is a window that the server refuses: an empty list would mean any time. */
function ownWindows(text: string) {
  const windows = windowsIn(text)
  return windows.length === 0 ? [{ start: '', end: '' }] : windows
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== ''
}

function epochOf(instant: string): number {
  return Math.floor(new Date(instant).getTime() / 1000)
}

/** Returns the phases and the tolerated failures, as far as the strategy has them. */
function limitsOf({ kind, strategy, failures, phases }: SettledDraft) {
  if (strategy === 'big_bang' || !forms[kind].hasFailureLimit) return {}
  return {
    max_failure_percentage: Number(failures),
    ...(strategy === 'canary' && { canary_phases: [...numbersIn(phases)] }),
  }
}

/** Returns the gates that the request of a draft has, in the order of their phases; phase 0 stands for the start. */
export function gatesIn(draft: Draft): readonly PhaseGate[] {
  const { phase_gates: gates = [] } = requestOf(draft).body
  return gates.toSorted((one, other) => one.phase - other.phase)
}

/** Phase 0 stands for the start. */
function gatesOf(settled: SettledDraft): Pick<DeviceRequest, 'phase_gates'> {
  const between = settled.strategy === 'canary' ? phasesBetween(settled) : []
  const phases = [...(settled.begin === undefined ? [] : [0]), ...between]
  const gates = phases.flatMap((phase) => gateAfter(settled, phase) ?? [])
  return gates.length === 0 ? {} : { phase_gates: gates }
}

/** Null: the next phase waits for nothing. */
function gateAfter(settled: SettledDraft, phase: number): PhaseGate | null {
  const { approver, people, soak, times = [] } = settled
  const time = times[phase - 1]
  const begins = isGiven(time) ? { not_before: epochOf(time) } : {}
  if (phase === 0 || isApproved(settled, phase))
    return {
      ...{ phase, wait_for: 'approval' },
      ...(approver !== undefined && { prevent_self_approval: true }),
      ...(people !== undefined && { approvals: Number(people) }),
      ...begins,
    }
  if (!isGiven(soak) && !isGiven(time)) return null
  return { phase, wait_for: 'time', ...(isGiven(soak) && { minutes: Number(soak) }), ...begins }
}

/** Returns the phases that another one follows. */
export function phasesBetween(settled: SettledDraft): readonly number[] {
  return percentsOf(settled)
    .slice(1)
    .map((_, index) => index + 1)
}

function isApproved({ gate }: SettledDraft, phase: number): boolean {
  return gate === 'each' || (gate === 'first' && phase === 1)
}
