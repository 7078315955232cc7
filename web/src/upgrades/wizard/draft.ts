import type { Schemas } from '../../api/client.ts'
import { type DeviceType, deviceTypes } from '../../devices/device.ts'
import { type UpgradeKind, upgradeKinds } from '../overview.ts'
import { keysOf } from '../../display/keys-of.ts'
import { instantOf } from '../../display/times/clock-reading.ts'

export type Strategy = NonNullable<Schemas['OrgUpgradeCreate']['reboot_strategy']>
export const strategies: readonly Strategy[] = ['canary', 'serial', 'rrm', 'big_bang']

interface Form {
  /** The first one is the default. */
  readonly strategies: readonly Strategy[]
  /** The default; appliances have one for each service. */
  readonly version: string
  /** Whether a share of failures stops an upgrade. */
  readonly hasFailureLimit: boolean
}

/** What the interface takes for each kind of upgrades, besides what is upgraded to which version. */
export const forms: Readonly<Record<UpgradeKind, Form>> = {
  device: { strategies, version: 'latest', hasFailureLimit: true },
  ssr: { strategies: ['serial', 'big_bang'], version: 'stable', hasFailureLimit: false },
  mxedge: {
    strategies: ['canary', 'serial', 'big_bang'],
    version: '',
    hasFailureLimit: true,
  },
}

export const channels = ['stable', 'beta', 'alpha'] as const
export type Channel = (typeof channels)[number]

const gates = ['first', 'each'] as const
/** The phases after which a person must approve. */
export type Gate = (typeof gates)[number]

const begins = ['approved'] as const
/** A person must approve the upgrade before it begins. */
export type Begin = (typeof begins)[number]

const approvers = ['another'] as const
/** Another person than the one who starts the upgrade. */
export type Approver = (typeof approvers)[number]

/** How many people must approve, where one is not enough. */
export const peopleCounts = ['2', '3', '4', '5'] as const
export type People = (typeof peopleCounts)[number]

const orders = ['fringe_to_center', 'center_to_fringe'] as const

const downgrades = ['allowed'] as const
export type Downgrades = (typeof downgrades)[number]

const takeovers = ['waiting'] as const
/** What other upgrades have not begun is taken over. */
export type Takeover = (typeof takeovers)[number]

const inclusions = ['later'] as const
/** What joins later is upgraded too. */
export type Inclusion = (typeof inclusions)[number]

const hours = ['any', 'own'] as const
/** Any time, or the windows of the draft. */
export type Hours = (typeof hours)[number]

const parts = ['download', 'reboot'] as const
/** One of the two steps of an upgrade of routers. */
export type Part = (typeof parts)[number]

/**
 * The draft of an upgrade, as in the address of the page, which people send to each other: its instants, such as
 * "2026-12-01T01:00:00Z", are the same for all of them.
 */
export interface Draft {
  /** The site whose upgrade it is; absent: that of the organization. The path of the page has it. */
  readonly siteId?: string
  /** What people call the upgrade, as typed; absent: it has no name. */
  readonly name?: string
  /** Absent: devices. */
  readonly kind?: UpgradeKind
  /** The chosen routers or appliances; absent: all of them. */
  readonly ids?: readonly string[]
  /** Absent: all of them. */
  readonly sites?: readonly string[]
  readonly type?: DeviceType
  /** Absent: all of them. */
  readonly models?: readonly string[]
  /** One a line, as typed; absent: none. */
  readonly rules?: string
  readonly version?: string
  /** The version of each service of appliances; absent: the present one. */
  readonly services?: Readonly<Record<string, string>>
  readonly channel?: Channel
  /** Absent: appliances that run newer versions keep them. */
  readonly downgrades?: Downgrades
  /** Of appliances; absent: services are upgraded. */
  readonly distro?: string
  /** For devices a time on the clocks of each site, such as "2026-12-01T02:00", otherwise an instant; absent: now. */
  readonly start?: string
  /** Of routers; absent: they download and reboot. */
  readonly part?: Part
  /** An instant, of routers; absent: as soon as they have downloaded. */
  readonly reboot?: string
  /** An instant; absent: it does not end by itself. */
  readonly end?: string
  /** Absent: what is in another upgrade stays there. */
  readonly takeover?: Takeover
  /** Absent: what joins later is not upgraded. */
  readonly inclusion?: Inclusion
  /** Absent: the maintenance windows of each site. */
  readonly hours?: Hours
  /** One a line, as typed. */
  readonly windows?: string
  readonly strategy?: Strategy
  /** Cumulative percentages as typed, such as "1, 10, 50, 100". */
  readonly phases?: string
  /** Absent: it begins by itself. */
  readonly begin?: Begin
  readonly gate?: Gate
  /** The minutes between phases without an approval, as typed; absent: the next one follows at once. */
  readonly soak?: string
  /** The instants at which the phases after the first one begin at the earliest; empty: as soon as they may. */
  readonly times?: readonly string[]
  /** Absent: anyone who may. */
  readonly approver?: Approver
  /** Absent: one. */
  readonly people?: People
  readonly failures?: string
  readonly first?: string
  readonly most?: string
  readonly order?: (typeof orders)[number]
}

/** The initial content of the fields. */
const defaults = {
  kind: 'device',
  channel: 'stable',
  phases: '1, 10, 50, 100',
  failures: '5',
  first: '2',
  most: '10',
  order: 'fringe_to_center',
} as const satisfies Draft

/** A draft with a value wherever there is a default. */
export type SettledDraft = Draft & Required<Pick<Draft, keyof typeof defaults | 'version' | 'strategy'>>

/** A strategy that the kind does not have, as an address may name it, is replaced by the default. */
export function settle(draft: Draft): SettledDraft {
  const settled = { ...defaults, ...draft }
  const form = forms[settled.kind]
  const [first = 'big_bang'] = form.strategies
  const strategy = isOne(settled) ? 'big_bang' : (form.strategies.find((name) => name === draft.strategy) ?? first)
  return { ...settled, version: draft.version ?? form.version, strategy }
}

/** True for an upgrade of one router alone: a site has no other one of routers. */
export function isSingle({
  siteId,
  kind,
}: { readonly [Name in 'siteId' | 'kind']?: Draft[Name] | undefined }): boolean {
  return siteId !== undefined && kind === 'ssr'
}

/** True for an upgrade of one router or appliance, to which no other one comes: it has one phase. */
export function isOne(draft: Draft): boolean {
  if (isSingle(draft)) return true
  const isGrowing = draft.inclusion !== undefined && mayInclude(draft)
  return (draft.kind ?? 'device') !== 'device' && draft.ids?.length === 1 && !isGrowing
}

/** Returns on whose clocks an upgrade is, in words: "each site" or "the site". */
export function sitesOf(draft: Draft): string {
  return draft.siteId === undefined && !isOne(draft) ? 'each site' : 'the site'
}

/** True if the interface takes what joins later: an upgrade that names its appliances, or that only reboots, is complete. */
export function mayInclude({ siteId, kind = 'device', ids, part }: Draft): boolean {
  if (isSingle({ siteId, kind })) return false
  return kind === 'ssr' ? part !== 'reboot' : kind === 'device' || ids === undefined
}

type Read<T> = (value: unknown) => T | undefined

const text: Read<string> = (value) => {
  // The router reads a text of digits as a number.
  const given = typeof value === 'number' ? String(value) : value
  return typeof given === 'string' ? given : undefined
}

const texts: Read<readonly string[]> = (value) =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined

function oneOf<T extends string>(names: readonly T[]): Read<T> {
  return (value) => names.find((name) => name === text(value))
}

/** How each field is read from an address. The path of the page has the site. */
const fields: { readonly [Name in Exclude<keyof Draft, 'siteId'>]-?: Read<Draft[Name]> } = {
  name: text,
  kind: oneOf(upgradeKinds),
  ids: texts,
  sites: texts,
  type: oneOf(keysOf(deviceTypes)),
  models: texts,
  rules: text,
  version: text,
  services: servicesIn,
  channel: oneOf(channels),
  downgrades: oneOf(downgrades),
  distro: text,
  start: text,
  part: oneOf(parts),
  reboot: text,
  end: text,
  takeover: oneOf(takeovers),
  inclusion: oneOf(inclusions),
  hours: oneOf(hours),
  windows: text,
  strategy: oneOf(strategies),
  phases: text,
  begin: oneOf(begins),
  gate: oneOf(gates),
  soak: text,
  times: texts,
  approver: oneOf(approvers),
  people: oneOf(peopleCounts),
  failures: text,
  first: text,
  most: text,
  order: oneOf(orders),
}

/** Keeps the known fields of a draft; an address that was typed by hand may contain anything. */
export function parseDraft(search: Readonly<Record<string, unknown>>): Draft {
  const read = keysOf(fields).map((name) => [name, fields[name](search[name])] as const)
  return Object.fromEntries<unknown>(read.filter(([, value]) => value !== undefined))
}

/**
 * Returns the draft with its times as instants, where it has instants: in an address they may be without a zone.
 * @param zone That of the clock on which such times are. Default: the zone of the viewer.
 */
export function withInstants(draft: Draft, zone?: string): Draft {
  const { kind = defaults.kind, times } = draft
  const named = (['reboot', 'end', ...(kind === 'device' ? [] : ['start' as const])] as const).flatMap((name) => {
    const time = draft[name]
    return time === undefined ? [] : [[name, instantOf(time, zone)] as const]
  })
  return {
    ...draft,
    ...Object.fromEntries(named),
    ...(times !== undefined && { times: times.map((time) => instantOf(time, zone)) }),
  }
}

/** As parseDraft(); its times without a zone are on the viewer's clock, and the page replaces them in the address. */
export function parseInstants(search: Readonly<Record<string, unknown>>): Draft {
  return withInstants(parseDraft(search))
}

function servicesIn(value: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const versions = Object.entries(value).filter(([, version]) => typeof version === 'string')
  return versions.length === 0 ? undefined : Object.fromEntries(versions)
}

/** Returns the cumulative percentages of the phases; a last one of 100 % is implied. */
export function percentsOf({ phases }: Pick<SettledDraft, 'phases'>): readonly number[] {
  const percents = numbersIn(phases)
  return percents.at(-1) === 100 ? percents : [...percents, 100]
}

/** Returns the numbers of a list such as "1, 10, 100"; NaN for an item that is not a number. */
export function numbersIn(text: string): readonly number[] {
  return text
    .split(/[\s,;]+/)
    .filter((part) => part !== '')
    .map(Number)
}
