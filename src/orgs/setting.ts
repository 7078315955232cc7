import { mergeDocument, omitFields } from '../http/documents.ts'
import { invalidField } from '../platform/errors.ts'
import type { Document } from './org.ts'
import { isObject } from '../platform/is-object.ts'
import { omitSecrets } from './secrets.ts'

/** Settings of an organization that the service itself heeds; everything else in the document is only kept. */
export interface SettingDocument {
  readonly password_policy?: {
    readonly enabled?: boolean
    readonly min_length?: number
    readonly requires_special_char?: boolean
    readonly requires_two_factor_auth?: boolean
    readonly expiry_in_days?: number
  }
  readonly api_policy?: { readonly no_reveal?: boolean }
  /** Minutes; 0 is off. */
  readonly ui_idle_timeout?: number
  readonly installer?: {
    readonly allow_all_devices?: boolean
    readonly allow_all_sites?: boolean
    readonly extra_site_ids?: readonly string[]
    /** Days. */
    readonly grace_period?: number
  }
}

/** What the service decides itself; a client that sends it back changes nothing. */
const readOnly = ['id', 'org_id', 'site_id', 'msp_id', 'for_site', 'created_time', 'modified_time']

/**
 * Clients write settings as one document with networks, port profiles, ACL tags and command lists of any number,
 * and no list answers them.
 */
const MAX_SETTING_BYTES = 1024 * 1024

/**
 * Merges a client's body over the stored settings of an organization or a site, top level only.
 * @throws AppError invalid for a protection that would not protect.
 */
export function mergeSetting(before: Document, body: Document): Record<string, unknown> {
  const merged = omitFields(mergeDocument(before, body, MAX_SETTING_BYTES), readOnly)
  const addresses = memberOf(merged['api_policy'], 'src_ips')
  if (Array.isArray(addresses) && addresses.length > 0)
    throw invalidField(
      'api_policy.src_ips',
      "can not take effect yet; the organization's tokens have src_ips of their own",
    )
  const extra = memberOf(merged['installer'], 'extra_site_ids')
  if (!Array.isArray(extra)) return merged
  // In the spelling of our ids, so that a site that goes is found.
  const ids = extra.map((id) => String(id).toLowerCase())
  return { ...merged, installer: { ...asDocument(merged['installer']), extra_site_ids: ids } }
}

function memberOf(value: unknown, name: string): unknown {
  return asDocument(value)[name]
}

function asDocument(value: unknown): Document {
  return isObject(value) ? value : {}
}

/**
 * Settings of an organization that a site has where it does not say otherwise; the others are the
 * organization's alone. Source: the members that both have in the contract.
 */
const inherited: ReadonlySet<string> = new Set([
  'allow_mist',
  'ap_updown_threshold',
  'auto_upgrade',
  'device_updown_threshold',
  'gateway_mgmt',
  'gateway_tunnel_updown_threshold',
  'gateway_updown_threshold',
  'juniper_srx',
  'marvis',
  'mist_nac',
  'mxedge_mgmt',
  'simple_alert',
  'ssr',
  'switch',
  'switch_mgmt',
  'switch_updown_threshold',
  'synthetic_test',
])

/** What holds for a site: its own settings over those that it has from its organization, top level only. */
export function deriveSetting(ofOrg: Document, ofSite: Document): Record<string, unknown> {
  return { ...Object.fromEntries(Object.entries(ofOrg).filter(([name]) => inherited.has(name))), ...ofSite }
}

/** Settings of an organization for its clone: without secrets, and without what names the original's sites. */
export function cloneSetting(doc: Document): Record<string, unknown> {
  const copy = omitSecrets(doc)
  const installer = copy['installer']
  return isObject(installer) ? { ...copy, installer: omitFields(installer, ['extra_site_ids']) } : copy
}

/** What those with the role `installer` may work on, besides what was claimed lately. */
export interface InstallerSetting {
  readonly allowAllDevices: boolean
  readonly allowAllSites: boolean
  /** In lower case; ids of sites that the organization does not have may be among them. */
  readonly extraSiteIds: readonly string[]
  /** For how long after its claim a device, and after its creation a site, is the installers'. */
  readonly graceDays: number
}

const GRACE_DAYS = 7

export function installerSettingOf({ installer }: SettingDocument): InstallerSetting {
  return {
    allowAllDevices: installer?.allow_all_devices ?? false,
    allowAllSites: installer?.allow_all_sites ?? false,
    extraSiteIds: installer?.extra_site_ids ?? [],
    graceDays: installer?.grace_period ?? GRACE_DAYS,
  }
}

/** Minutes that devices are away before anybody is told. */
export const updownFields = [
  'ap_updown_threshold',
  'device_updown_threshold',
  'gateway_updown_threshold',
  'switch_updown_threshold',
] as const

/** How long devices of a type are away before anybody is told, in minutes. @param derived See deriveSetting. */
export function updownMinutesOf(derived: Document, type: 'ap' | 'switch' | 'gateway'): number {
  const minutes = derived[`${type}_updown_threshold`] ?? derived['device_updown_threshold']
  return typeof minutes === 'number' ? minutes : 0
}

/** What the passwords of an admin must satisfy beyond the rules of the service. */
export interface PasswordPolicy {
  readonly minLength: number
  readonly requiresSpecialChar: boolean
  readonly requiresTwoFactor: boolean
  /** Null: passwords don't grow old. */
  readonly expiryDays: number | null
}

const MIN_LENGTH = 8

/** The strictest of what several organizations ask for, each rule by itself. None asks: the service's minimum. */
export function strictestPolicy(settings: readonly SettingDocument[]): PasswordPolicy {
  const policies = settings.flatMap(({ password_policy: policy }) => (policy?.enabled === true ? [policy] : []))
  const days = positive(policies.map((policy) => policy.expiry_in_days))
  return {
    minLength: Math.max(MIN_LENGTH, ...policies.map((policy) => policy.min_length ?? MIN_LENGTH)),
    requiresSpecialChar: policies.some((policy) => policy.requires_special_char === true),
    requiresTwoFactor: policies.some((policy) => policy.requires_two_factor_auth === true),
    expiryDays: days.length === 0 ? null : Math.min(...days),
  }
}

/** The shortest `ui_idle_timeout` in minutes; null where none is set. */
export function shortestIdleMinutes(settings: readonly SettingDocument[]): number | null {
  const minutes = positive(settings.map((setting) => setting.ui_idle_timeout))
  return minutes.length === 0 ? null : Math.min(...minutes)
}

/** Zero means "off" in all of them. */
function positive(values: readonly (number | undefined)[]): number[] {
  return values.filter((value) => value !== undefined).filter((value) => value > 0)
}
