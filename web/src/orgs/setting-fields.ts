import { type MaintenanceWindow, windowTexts, windowsIn } from './maintenance-windows.ts'

/** The settings of an organization or of a site, as the interface has them. */
export type Setting = Readonly<Record<string, unknown>>

type Kind = 'switch' | 'number' | 'text' | 'choice' | 'windows' | 'versions'

export interface SettingField {
  /** The key of the settings, and within groups those of the groups. */
  readonly path: readonly [string, ...string[]]
  readonly label: string
  readonly description?: string
  readonly kind: Kind
  /** The values of a choice with their labels; the first, which is empty, stands for the default. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[]
  /** The value of an empty number; absent: the key is removed. */
  readonly empty?: 0 | null
}

/** A panel of the form. */
export interface SettingGroup {
  readonly title: string
  /** True if a site inherits these settings, and may have its own. */
  readonly isOfSites?: true
  readonly fields: readonly SettingField[]
}

/**
 * The fields for devices that connect for the first time.
 * @param plural Such as `switches`.
 * @param example A model and a version.
 */
const onboardingFields = (key: string, plural: string, example: string): readonly SettingField[] => [
  {
    path: [key, 'auto_upgrade', 'enabled'],
    label: `Upgrade new ${plural}`,
    kind: 'switch',
  },
  {
    path: [key, 'auto_upgrade', 'custom_versions'],
    label: `Versions of new ${plural}`,
    description: `One per line, such as "${example}"`,
    kind: 'versions',
  },
  {
    path: [key, 'auto_upgrade', 'version'],
    label: `Version of new ${plural} of other models`,
    description: `A version, or a label such as "stable". Empty: ${key === 'ssr' ? 'the channel' : 'they keep theirs'}`,
    kind: 'text',
  },
]

/** Junos keeps a snapshot of its software, from which a device can recover. */
const snapshotField = (key: string, plural: string): SettingField => ({
  path: [key, 'auto_upgrade', 'snapshot'],
  label: `Take a recovery snapshot of new ${plural}`,
  kind: 'switch',
})

/** The settings that have an effect, by topic. */
export const settingGroups: readonly SettingGroup[] = [
  {
    title: 'Upgrades and outages',
    isOfSites: true,
    fields: [
      {
        path: ['maintenance_windows'],
        label: 'Maintenance windows',
        description:
          'One per line, such as "sat sun 22:00-04:00", in the local time of the site. Empty: upgrades can start at any time',
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
    title: 'Automatic upgrades of access points',
    isOfSites: true,
    fields: [
      { path: ['auto_upgrade', 'enabled'], label: 'Upgrade at this time', kind: 'switch' },
      {
        path: ['auto_upgrade', 'day_of_week'],
        label: 'Day',
        kind: 'choice',
        choices: [
          { value: '', label: 'Every day' },
          { value: 'mon', label: 'Monday' },
          { value: 'tue', label: 'Tuesday' },
          { value: 'wed', label: 'Wednesday' },
          { value: 'thu', label: 'Thursday' },
          { value: 'fri', label: 'Friday' },
          { value: 'sat', label: 'Saturday' },
          { value: 'sun', label: 'Sunday' },
        ],
      },
      {
        path: ['auto_upgrade', 'time_of_day'],
        label: 'Time',
        description: 'Such as 03:30, in the local time of the site. Empty: 02:00',
        kind: 'text',
      },
      {
        path: ['auto_upgrade', 'version'],
        label: 'Version',
        kind: 'choice',
        choices: [
          { value: '', label: 'Stable' },
          { value: 'beta', label: 'Beta' },
          { value: 'custom', label: 'By model only' },
        ],
      },
      {
        path: ['auto_upgrade', 'custom_versions'],
        label: 'Versions by model',
        description: 'One per line, such as "AP45 2.0.0"',
        kind: 'versions',
      },
    ],
  },
  {
    title: 'Upgrades of devices that connect for the first time',
    isOfSites: true,
    fields: [
      ...onboardingFields('switch', 'switches', 'EX4100-48P 23.4R2-S3'),
      snapshotField('switch', 'switches'),
      ...onboardingFields('juniper_srx', 'SRX gateways', 'SRX345 23.4R2-S3'),
      snapshotField('juniper_srx', 'SRX gateways'),
      ...onboardingFields('ssr', 'SSR routers', 'SSR120 6.2.5-5'),
      {
        path: ['ssr', 'auto_upgrade', 'channel'],
        label: 'Channel of new SSR routers of other models',
        kind: 'choice',
        choices: [
          { value: '', label: 'Stable' },
          { value: 'beta', label: 'Beta' },
          { value: 'alpha', label: 'Alpha' },
        ],
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

export const settingFields: readonly SettingField[] = settingGroups.flatMap(({ fields }) => fields)

/** The content of the form, by the name of the field; a switch is `true` or empty. */
export type SettingTexts = Readonly<Record<string, string>>

export const nameOf = ({ path }: Pick<SettingField, 'path'>): string => path.join('.')

/** Returns the name of the field that shows the refusal of a path; null if none does. */
export function fieldOfPath(path: string | null): string | null {
  const names = settingFields.map(nameOf)
  if (path === null) return null
  // A window has parts, and a group may be refused whole.
  return (
    names.find((name) => `${path}.`.startsWith(`${name}.`)) ?? names.find((name) => name.startsWith(`${path}.`)) ?? null
  )
}

/** Returns the initial content of the form. */
export function textsOf(setting: Setting): SettingTexts {
  return Object.fromEntries(settingFields.map((field) => [nameOf(field), textOf(field, valueAt(setting, field.path))]))
}

function valueAt(setting: Setting, path: SettingField['path']): unknown {
  return path.reduce<unknown>((value, key) => memberOf(value, key), setting)
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

function textOf({ kind, choices = [] }: SettingField, value: unknown): string {
  if (kind === 'switch') return value === true ? 'true' : ''
  if (kind === 'number') return typeof value === 'number' ? String(value) : ''
  if (kind === 'text') return typeof value === 'string' ? value : ''
  if (kind === 'choice') return choices.some((choice) => choice.value === value) ? String(value) : ''
  if (kind === 'versions') return versionTexts(value).join('\n')
  if (!Array.isArray(value)) return ''
  return windowTexts(value as readonly MaintenanceWindow[]).join('\n')
}

function versionTexts(value: unknown): string[] {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).map(([model, version]) => `${model} ${version}`)
    : []
}

/** What has no version is left to the server, which names the model. */
function versionsIn(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/))
  return Object.fromEntries(
    lines
      .filter(([model]) => model !== '')
      .map((words) => (words.length === 1 ? [words.join(), ''] : [words.slice(0, -1).join(' '), words.at(-1) ?? ''])),
  )
}

/** True for a field of a group that has other members too: a write replaces the group. */
export function hasOthers({ path: [key, ...inner] }: SettingField, setting: Setting): boolean {
  const group = setting[key]
  if (inner.length < 2 || typeof group !== 'object' || group === null) return false
  return !Object.keys(group).every((name) => name === inner[0])
}

/** Returns the value of a key whose fields have these texts. A group keeps what no field has. */
export function withTexts(value: unknown, fields: readonly SettingField[], texts: SettingTexts): unknown {
  return fields.reduce((group, field) => {
    const [, ...inner] = field.path
    const written = valueOf(field, texts[nameOf(field)] ?? '')
    return inner.length === 0 ? written : withField(group, inner, written)
  }, value)
}

/** Returns the keys that differ. A group is sent whole, because a write replaces it. */
export function changeOf(texts: SettingTexts, setting: Setting, fields: readonly SettingField[]): Setting {
  const before = textsOf(setting)
  const changed = fields.filter((field) => texts[nameOf(field)] !== before[nameOf(field)])
  const byKey = Map.groupBy(changed, ({ path: [key] }) => key)
  return Object.fromEntries([...byKey].map(([key, some]) => [key, withTexts(setting[key], some, texts)]))
}

function withField(group: unknown, [name = '', ...inner]: readonly string[], value: unknown): unknown {
  const { [name]: present, ...others } = (group ?? {}) as Readonly<Record<string, unknown>>
  if (inner.length > 0) return { ...others, [name]: withField(present, inner, value) }
  return value === null ? others : { ...others, [name]: value }
}

function valueOf({ kind, empty = null }: SettingField, text: string): unknown {
  if (kind === 'switch') return text === 'true'
  // Input that is not a number is sent unchanged, and the server refuses it.
  if (kind === 'number') return text.trim() === '' ? empty : Number.isNaN(Number(text)) ? text : Number(text)
  if (kind === 'text' || kind === 'choice') return text.trim() === '' ? null : text.trim()
  if (kind === 'versions') return text.trim() === '' ? null : versionsIn(text)
  const windows = windowsIn(text)
  return windows.length === 0 ? null : windows
}
