import { isDeepStrictEqual } from 'node:util'
import type { AccessPolicy } from '../../access/decide-policy.ts'
import { mergeDocument, omitFields } from '../../http/bodies/documents.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Document } from '../../platform/json/document.ts'
import { isObject } from '../../platform/json/is-object.ts'
import { omitSecrets } from '../secrets/secrets.ts'
import { type MaintenanceWindow, isWindow, refuseEndless } from '../windows/windows.ts'

/** Settings of an organization that the service acts on; it only stores the rest of the document. */
export interface SettingDocument {
  readonly password_policy?: {
    readonly enabled?: boolean
    readonly min_length?: number
    readonly requires_special_char?: boolean
    readonly requires_two_factor_auth?: boolean
    readonly expiry_in_days?: number
  }
  readonly api_policy?: { readonly no_reveal?: boolean }
  /** Minutes; 0 turns it off. */
  readonly ui_idle_timeout?: number
  readonly installer?: {
    readonly allow_all_devices?: boolean
    readonly allow_all_sites?: boolean
    readonly extra_site_ids?: readonly string[]
    /** Days. */
    readonly grace_period?: number
  }
}

/**
 * Clients write settings as one document with any number of networks, port profiles, ACL tags and command lists. No
 * list returns such documents, so they may be larger than others.
 */
const MAX_SETTING_BYTES = 1024 * 1024

/**
 * Merges a client's body into the stored settings of an organization or a site, top level only.
 * @param body Has passed the schema of settings, except for a null that the record has as well.
 * @throws AppError invalid for a protection that would protect nothing, and for a window without an end.
 */
export function mergeSetting(before: Document, body: Document): Record<string, unknown> {
  const merged = omitFields(mergeDocument(before, body, MAX_SETTING_BYTES), readOnlyOf('OrgSetting'))
  const isNew = (field: string) => !isDeepStrictEqual(merged[field], before[field])
  if (isNew('maintenance_windows')) refuseEndless('maintenance_windows', windowsOf(merged) ?? [])
  const addresses = memberOf(merged['api_policy'], 'src_ips')
  if (isNew('api_policy') && Array.isArray(addresses) && addresses.length > 0)
    throw invalidField(
      'api_policy.src_ips',
      "can't take effect yet; the organization's tokens have src_ips of their own",
    )
  const extra = memberOf(merged['installer'], 'extra_site_ids')
  if (!Array.isArray(extra)) return merged
  // Ids are stored as we spell them, so that removing a site finds it here.
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
 * Settings that a site inherits from its organization unless it has its own; the others apply to the organization only.
 * Source: the members that both have in the contract.
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
  'maintenance_windows',
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

/** Returns the effective settings of a site: its own over those that it takes from its organization, top level only. */
export function deriveSetting(ofOrg: Document, ofSite: Document): Record<string, unknown> {
  return { ...Object.fromEntries(Object.entries(ofOrg).filter(([name]) => inherited.has(name))), ...ofSite }
}

/**
 * Returns the settings for a clone of an organization: without secrets, and without references to the original's sites.
 */
export function cloneSetting(doc: Document): Record<string, unknown> {
  const copy = omitSecrets(doc)
  const installer = copy['installer']
  return isObject(installer) ? { ...copy, installer: omitFields(installer, ['extra_site_ids']) } : copy
}

/** The objects that admins with the role `installer` may change besides recently claimed devices. */
export interface InstallerSetting {
  readonly allowAllDevices: boolean
  readonly allowAllSites: boolean
  /** In lower case; may include ids of sites that the organization does not have. */
  readonly extraSiteIds: readonly string[]
  /** The number of days for which installers may work on a device after its claim, and on a site after its creation. */
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

/** The minutes that a device must be away before an event reports it. */
export const updownFields = [
  'ap_updown_threshold',
  'device_updown_threshold',
  'gateway_updown_threshold',
  'switch_updown_threshold',
] as const

/**
 * Returns how many minutes a device of a type must be away before an event reports it. @param derived See
 * deriveSetting().
 */
export function updownMinutesOf(derived: Document, type: 'ap' | 'switch' | 'gateway'): number {
  const minutes = derived[`${type}_updown_threshold`] ?? derived['device_updown_threshold']
  return typeof minutes === 'number' ? minutes : 0
}

/**
 * Returns the maintenance windows in settings, without impossible ones; null: devices begin at any time. @param doc Of an
 * organization or a site, or derived from both.
 */
export function windowsOf({ maintenance_windows: stored }: Document): readonly MaintenanceWindow[] | null {
  const windows = Array.isArray(stored) ? stored.filter(isWindow) : []
  return windows.length > 0 ? windows : null
}

/** Rules for an admin's password beyond those of the service. */
export interface PasswordPolicy {
  readonly minLength: number
  readonly requiresSpecialChar: boolean
}

const MIN_LENGTH = 8

/**
 * Combines the policies of several organizations; for each rule the strictest wins. Without any, the service's minimum
 * applies.
 */
export function strictestPolicy(settings: readonly SettingDocument[]): PasswordPolicy {
  const policies = settings.flatMap(({ password_policy: policy }) => (policy?.enabled === true ? [policy] : []))
  return {
    minLength: Math.max(MIN_LENGTH, ...policies.map((policy) => policy.min_length ?? MIN_LENGTH)),
    requiresSpecialChar: policies.some((policy) => policy.requires_special_char === true),
  }
}

/** Returns the demands of the settings on the people who use the organization; null: none. */
export function accessPolicyOf({
  password_policy: rules,
  ui_idle_timeout: minutes,
}: SettingDocument): AccessPolicy | null {
  const isEnabled = rules?.enabled === true
  const policy = {
    requiresTwoFactor: isEnabled && rules.requires_two_factor_auth === true,
    expiryDays: isEnabled ? positive(rules.expiry_in_days) : null,
    idleMinutes: positive(minutes),
  }
  const demands = policy.requiresTwoFactor || policy.expiryDays !== null || policy.idleMinutes !== null
  return demands ? policy : null
}

/** Zero means "off" in all of them. */
function positive(value: number | undefined): number | null {
  return value !== undefined && value > 0 ? value : null
}
