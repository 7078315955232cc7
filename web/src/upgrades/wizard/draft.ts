import type { Schemas } from '../../api/client.ts'
import { type DeviceType, deviceTypes } from '../../devices/device.ts'

export type UpgradeRequest = Schemas['OrgUpgradeCreate']

export const strategies = ['canary', 'serial', 'rrm', 'big_bang'] as const
export type Strategy = (typeof strategies)[number]

const gates = ['first', 'each'] as const
/** The phases after which a person must approve. */
export type Gate = (typeof gates)[number]

const approvers = ['another'] as const
/** Another person than the one who starts the upgrade. */
export type Approver = (typeof approvers)[number]

const orders = ['fringe_to_center', 'center_to_fringe'] as const

/** The draft of an upgrade, as in the address of the page. */
export interface Draft {
  /** Absent: all of them. */
  readonly sites?: readonly string[]
  readonly type?: DeviceType
  /** Absent: all of them. */
  readonly models?: readonly string[]
  /** One a line, as typed; absent: none. */
  readonly rules?: string
  readonly version?: string
  /** A time on the clocks of each site; absent: now. */
  readonly start?: string
  readonly strategy?: Strategy
  /** Cumulative percentages as typed, such as "1, 10, 50, 100". */
  readonly phases?: string
  readonly gate?: Gate
  /** Absent: anyone who may. */
  readonly approver?: Approver
  readonly failures?: string
  readonly first?: string
  readonly most?: string
  readonly order?: (typeof orders)[number]
}

/** The initial content of the fields. */
export const defaults = {
  version: 'latest',
  strategy: 'canary',
  phases: '1, 10, 50, 100',
  failures: '5',
  first: '2',
  most: '10',
  order: 'fringe_to_center',
} as const satisfies Draft

/** A draft with a value wherever there is a default. */
export type SettledDraft = Draft & Required<Pick<Draft, keyof typeof defaults>>

export function settle(draft: Draft): SettledDraft {
  return { ...defaults, ...draft }
}

const texts = ['rules', 'version', 'start', 'phases', 'failures', 'first', 'most'] as const

/** Keeps the known fields of a draft; an address that was typed by hand may contain anything. */
export function parseDraft(search: Readonly<Record<string, unknown>>): Draft {
  const given = texts.flatMap((name) => {
    const value = search[name]
    // The router reads a text of digits as a number.
    const text = typeof value === 'number' ? String(value) : value
    return typeof text === 'string' ? [[name, text] as const] : []
  })
  const lists = (['sites', 'models'] as const).flatMap((name) => {
    const value: unknown = search[name]
    return Array.isArray(value) ? [[name, value.filter((item) => typeof item === 'string')] as const] : []
  })
  const choices = {
    type: (Object.keys(deviceTypes) as DeviceType[]).find((type) => type === search['type']),
    strategy: strategies.find((name) => name === search['strategy']),
    gate: gates.find((name) => name === search['gate']),
    approver: approvers.find((name) => name === search['approver']),
    order: orders.find((name) => name === search['order']),
  }
  const chosen = Object.entries(choices).filter(([, value]) => value !== undefined)
  return Object.fromEntries<unknown>([...given, ...lists, ...chosen])
}

/** Returns the numbers of a list such as "1, 10, 100"; NaN for an item that is not a number. */
export function numbersIn(text: string): readonly number[] {
  return text
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map(Number)
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
 * Returns the request of a draft. An item that is not a number becomes null, which the server refuses by the name of
 * the field.
 */
export function requestOf(draft: Draft): UpgradeRequest {
  const settled = settle(draft)
  const { sites, type, models, rules = '', start, strategy, version } = settled
  return {
    ...(sites === undefined ? { all_sites: true } : { site_ids: [...sites] }),
    ...(type !== undefined && { device_type: type }),
    ...(models !== undefined && { models: [...models] }),
    ...(rules.trim() !== '' && { rules: rulesIn(rules) }),
    versions: [version],
    ...(start !== undefined && start !== '' && { start_datetime: start }),
    reboot_strategy: strategy,
    ...parametersOf(settled),
  }
}

function parametersOf(draft: SettledDraft): UpgradeRequest {
  const failures = { max_failure_percentage: Number(draft.failures) }
  if (draft.strategy === 'big_bang') return {}
  if (draft.strategy === 'serial') return failures
  if (draft.strategy === 'rrm')
    return {
      ...failures,
      rrm_first_batch_percentage: Number(draft.first),
      rrm_max_batch_percentage: Number(draft.most),
      rrm_node_order: draft.order,
    }
  const percents = numbersIn(draft.phases)
  const gated =
    draft.gate === undefined ? [] : draft.gate === 'first' ? [1] : percents.slice(1).map((_, index) => index + 1)
  const gateAfter = (phase: number) =>
    draft.approver === undefined
      ? { phase, wait_for: 'approval' as const }
      : { phase, wait_for: 'approval' as const, prevent_self_approval: true }
  return {
    ...failures,
    canary_phases: [...percents],
    ...(gated.length > 0 && { phase_gates: gated.map(gateAfter) }),
  }
}
