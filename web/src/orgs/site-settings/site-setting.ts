import {
  type Setting,
  type SettingField,
  type SettingTexts,
  changeOf,
  hasOthers,
  nameOf,
  settingGroups,
  textsOf,
  withTexts,
} from '../setting-fields.ts'

/** The settings of a site, as a person sees them. */
export interface SiteSetting {
  /** Its own. */
  readonly own: Setting
  /** Its own over those of the organization. */
  readonly effective: Setting
  /** Undefined: the role of the person does not reach the organization. */
  readonly ofOrg: Setting | undefined
  /** Those who may not write in the organization don't see its secrets. */
  readonly mayWriteOrg: boolean
}

/** The fields of one key of the settings: a site inherits a key as a whole. */
export interface SettingUnit {
  readonly key: string
  readonly title: string
  readonly fields: readonly SettingField[]
}

/** The titles of keys with several fields; others have that of their field. */
const titles: Readonly<Record<string, string>> = {
  auto_upgrade: 'Automatic upgrades of access points',
  switch: 'Switches',
  juniper_srx: 'SRX gateways',
  ssr: 'SSR routers',
}

/** The settings that a site may have, by panel. */
export const sitePanels: readonly { readonly title: string; readonly units: readonly SettingUnit[] }[] = settingGroups
  .filter(({ isOfSites }) => isOfSites === true)
  .map(({ title, fields }) => ({
    title,
    units: [...Map.groupBy(fields, ({ path: [key] }) => key)].map(([key, some]) => ({
      key,
      title: titles[key] ?? some.map(({ label }) => label).join(),
      fields: some,
    })),
  }))

export const siteUnits: readonly SettingUnit[] = sitePanels.flatMap(({ units }) => units)

/** Returns the name of the switch of a key that the site has itself. */
export const ownNameOf = ({ key }: Pick<SettingUnit, 'key'>): string => `own ${key}`

/** Returns the content of the form. */
export function textsOfSite({ own, effective }: SiteSetting): SettingTexts {
  const switches = siteUnits.map((unit) => [ownNameOf(unit), unit.key in own ? 'true' : ''] as const)
  return { ...textsOf(effective), ...Object.fromEntries<string>(switches) }
}

/** Returns what the edit of a field relies on while the site has its key: its switch, or the fields that the switch discards. */
export function reliedOnBy({ own }: SiteSetting, name: string): readonly string[] {
  const units = siteUnits.filter(({ key }) => key in own)
  const turned = units.find((unit) => ownNameOf(unit) === name)
  if (turned !== undefined) return turned.fields.map(nameOf)
  return units.filter(({ fields }) => fields.some((field) => nameOf(field) === name)).map(ownNameOf)
}

/** Returns the settings that apply if the site has none of its own for a key; undefined: unknown. */
export function inheritedBy({ own, effective, ofOrg }: SiteSetting, { key }: SettingUnit): Setting | undefined {
  return ofOrg ?? (key in own ? undefined : effective)
}

/** False if a write would delete members of the group that may be secrets which the person does not see. */
export function isEditable({ own, effective, ofOrg, mayWriteOrg }: SiteSetting, { key, fields }: SettingUnit): boolean {
  if (!fields.some((field) => hasOthers(field, effective))) return true
  return ofOrg !== undefined && !hidesSecrets(ofOrg) && (key in own || mayWriteOrg)
}

function hidesSecrets({ api_policy: policy }: Setting): boolean {
  return typeof policy === 'object' && policy !== null && Reflect.get(policy, 'no_reveal') === true
}

/**
 * Returns what the form has changed. A key that becomes one of the site has all that applied so far; one that the site no longer
 * has is unset, so that it inherits that of the organization again.
 */
export function siteChangeOf(texts: SettingTexts, setting: SiteSetting): Setting {
  const { own, effective } = setting
  const changes = siteUnits
    .filter((unit) => isEditable(setting, unit))
    .map((unit): Setting => {
      const { key, fields } = unit
      if (texts[ownNameOf(unit)] !== 'true') return key in own ? { [`-${key}`]: '' } : {}
      return key in own ? changeOf(texts, own, fields) : { [key]: withTexts(effective[key], fields, texts) }
    })
  return Object.fromEntries(changes.flatMap((change) => Object.entries(change)))
}
