import type { Schemas } from '../../api/client.ts'
import { type MaintenanceWindow, windowTexts, windowsIn } from '../maintenance-windows.ts'

export type Setting = Schemas['OrgSetting']
type Change = Schemas['OrgSettingUpdate']

type Kind = 'switch' | 'number' | 'windows'

export interface SettingField {
  /** The key of the settings, and within a group that of the group. */
  readonly path: readonly [string] | readonly [string, string]
  readonly label: string
  readonly description?: string
  readonly kind: Kind
  /** The value of an empty number; absent: the key is removed. */
  readonly empty?: 0 | null
}

/** The settings that have an effect, by topic. */
export const settingGroups: readonly { readonly title: string; readonly fields: readonly SettingField[] }[] = [
  {
    title: 'Upgrades and outages',
    fields: [
      {
        path: ['maintenance_windows'],
        label: 'Maintenance windows',
        description:
          'One per line, such as "sat sun 22:00-04:00", in the time of each site. Empty: upgrades can start at any time',
        kind: 'windows',
      },
      {
        path: ['device_updown_threshold'],
        label: 'Report outages after (minutes)',
        description: 'Empty or 0: immediately',
        kind: 'number',
      },
      {
        path: ['ap_updown_threshold'],
        label: 'For access points (minutes)',
        description: 'Empty: as for all devices',
        kind: 'number',
      },
      {
        path: ['switch_updown_threshold'],
        label: 'For switches (minutes)',
        description: 'Empty: as for all devices',
        kind: 'number',
      },
      {
        path: ['gateway_updown_threshold'],
        label: 'For gateways (minutes)',
        description: 'Empty: as for all devices',
        kind: 'number',
      },
    ],
  },
  {
    title: 'Sign-in',
    fields: [
      { path: ['password_policy', 'enabled'], label: 'Enforce the password policy', kind: 'switch' },
      { path: ['password_policy', 'requires_two_factor_auth'], label: 'Require a second factor', kind: 'switch' },
      { path: ['password_policy', 'requires_special_char'], label: 'Require a special character', kind: 'switch' },
      {
        path: ['password_policy', 'min_length'],
        label: 'Minimum password length',
        description: 'At least 8',
        kind: 'number',
      },
      {
        path: ['password_policy', 'expiry_in_days'],
        label: 'Passwords expire after (days)',
        description: 'Empty or 0: never',
        kind: 'number',
      },
      {
        path: ['ui_idle_timeout'],
        label: 'End idle sessions after (minutes)',
        description: 'Empty or 0: never',
        kind: 'number',
        empty: 0,
      },
      { path: ['api_policy', 'no_reveal'], label: 'Never show stored secrets', kind: 'switch' },
    ],
  },
  {
    title: 'Installers',
    fields: [
      { path: ['installer', 'allow_all_devices'], label: 'May change all devices', kind: 'switch' },
      { path: ['installer', 'allow_all_sites'], label: 'May work at all sites', kind: 'switch' },
      {
        path: ['installer', 'grace_period'],
        label: 'May change a claimed device for (days)',
        description: 'Empty: 7',
        kind: 'number',
      },
    ],
  },
]

/** The content of the form, by the name of the field; a switch is `true` or empty. */
export type SettingTexts = Readonly<Record<string, string>>

export const nameOf = ({ path }: SettingField): string => path.join('.')

/** Returns the name of the field that shows the refusal of a path; null if none does. */
export function fieldOfPath(path: string | null): string | null {
  const names = settingGroups.flatMap(({ fields }) => fields.map(nameOf))
  if (path === null) return null
  // A window has parts, and a group may be refused whole.
  return (
    names.find((name) => `${path}.`.startsWith(`${name}.`)) ?? names.find((name) => name.startsWith(`${path}.`)) ?? null
  )
}

/** Returns the initial content of the form. */
export function textsOf(setting: Setting): SettingTexts {
  const fields = settingGroups.flatMap((group) => group.fields)
  return Object.fromEntries(fields.map((field) => [nameOf(field), textOf(field.kind, valueAt(setting, field.path))]))
}

function valueAt(setting: Setting, [key, inner]: SettingField['path']): unknown {
  const value = setting[key]
  if (inner === undefined) return value
  return typeof value === 'object' && value !== null ? Reflect.get(value, inner) : undefined
}

function textOf(kind: Kind, value: unknown): string {
  if (kind === 'switch') return value === true ? 'true' : ''
  if (kind === 'number') return typeof value === 'number' ? String(value) : ''
  if (!Array.isArray(value)) return ''
  return windowTexts(value as readonly MaintenanceWindow[]).join('\n')
}

/** Returns the keys that differ. A group is sent whole, because a write replaces it. */
export function changeOf(texts: SettingTexts, setting: Setting): Change {
  const before = textsOf(setting)
  const changed: Record<string, unknown> = {}
  for (const field of settingGroups.flatMap((group) => group.fields)) {
    const name = nameOf(field)
    if (texts[name] === before[name]) continue
    const [key, inner] = field.path
    const value = valueOf(field, texts[name] ?? '')
    if (inner === undefined) changed[key] = value
    else changed[key] = withField(changed[key] ?? setting[key], inner, value)
  }
  return changed
}

function withField(group: unknown, name: string, value: unknown): Readonly<Record<string, unknown>> {
  const { [name]: _, ...others } = (group ?? {}) as Readonly<Record<string, unknown>>
  return value === null ? others : { ...others, [name]: value }
}

function valueOf({ kind, empty = null }: SettingField, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  // Input that is not a number is sent unchanged, and the server refuses it.
  if (kind === 'number') return text.trim() === '' ? empty : Number.isNaN(Number(text)) ? text : Number(text)
  const windows = windowsIn(text)
  return windows.length === 0 ? null : windows
}
