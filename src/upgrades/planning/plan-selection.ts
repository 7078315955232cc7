import { isSsrModel } from '../../devices/registry/models.ts'
import type { DeviceType } from '../../events/device-type.ts'

/** The part of a property that a rule compares: like a slice in Python, negative counts from the end. */
export interface Slice {
  readonly start: number | null
  readonly end: number | null
}

export interface Condition {
  readonly property: 'name' | 'model' | 'role'
  readonly slice: Slice | null
  readonly value: string
}

/** All its conditions must hold. */
export type Rule = readonly Condition[]

const KEY = /^match_(?<property>name|model|role)(?:\[(?<start>-?\d{1,6})?:(?<end>-?\d{1,6})?\])?$/

/** Reads `match_name[0:3]: "AP-"`. @returns Null for any other key. */
export function parseCondition(key: string, value: string): Condition | null {
  const groups = KEY.exec(key)?.groups
  const property = groups?.['property']
  if (groups === undefined || (property !== 'name' && property !== 'model' && property !== 'role')) return null
  const slice = key.includes('[') ? { start: bound(groups['start']), end: bound(groups['end']) } : null
  return { property, slice, value }
}

function bound(text: string | undefined): number | null {
  return text === undefined ? null : Number(text)
}

export interface Selectable {
  readonly id: string
  readonly type: DeviceType
  readonly name: string | null
  readonly model: string
  readonly role: string | null
}

/** The selection of devices at the sites of an upgrade. Null: no limit of that kind. */
export interface Selection {
  readonly ids: ReadonlySet<string> | null
  readonly type: DeviceType | null
  readonly models: readonly string[] | null
  /** One of them must match. */
  readonly rules: readonly Rule[] | null
}

/** Selects every device at the sites. Other selections state only their limits. */
export const allDevices: Selection = { ids: null, type: null, models: null, rules: null }

/** The selection of devices that may join an upgrade at its sites later. */
export interface JoiningSelection extends Selection {
  /** Devices that the request could have named, and did not. Absent: none. */
  readonly except?: ReadonlySet<string>
  /** Only SSR routers. */
  readonly onlySsr?: true
}

export function mayJoin(device: Selectable, { except, onlySsr, ...selection }: JoiningSelection): boolean {
  return (
    isSelected(device, selection) && except?.has(device.id) !== true && (onlySsr !== true || isSsrModel(device.model))
  )
}

export function isSelected(device: Selectable, { ids, type, models, rules }: Selection): boolean {
  return (
    (ids === null || ids.has(device.id)) &&
    (type === null || device.type === type) &&
    (models === null || models.includes(device.model)) &&
    (rules === null || rules.some((rule) => matches(device, rule)))
  )
}

type Properties = Pick<Selectable, 'name' | 'model' | 'role'>

function matches(device: Properties, rule: Rule): boolean {
  return rule.every((condition) => partOf(device, condition) === condition.value)
}

type ComparedPart = Pick<Condition, 'property' | 'slice'>

/** Returns the part of the device that a condition compares; null: it has none. */
function partOf(device: Properties, { property, slice }: ComparedPart): string | null {
  const text = device[property]
  return text === null || slice === null ? text : text.slice(slice.start ?? 0, slice.end ?? undefined)
}

/**
 * Returns a function that decides whether any of the rules matches a device. Rules that compare the same parts are looked up
 * together, because thousands of rules usually differ only in their values.
 */
export function indexRules(rules: readonly Rule[]): (device: Properties) => boolean {
  const indexes = new Map<string, { readonly parts: readonly ComparedPart[]; readonly values: Set<string> }>()
  for (const rule of rules) {
    const parts = rule.map(({ property, slice }) => ({ property, slice }))
    const key = JSON.stringify(parts)
    const index = indexes.get(key) ?? { parts, values: new Set<string>() }
    index.values.add(JSON.stringify(rule.map(({ value }) => value)))
    indexes.set(key, index)
  }
  const all = [...indexes.values()]
  return (device) =>
    all.some(({ parts, values }) => values.has(JSON.stringify(parts.map((part) => partOf(device, part)))))
}
