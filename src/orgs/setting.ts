import { mergeDocument, omitFields } from '../http/documents.ts'
import type { Document } from './org.ts'

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
}

/** What the service decides itself; a client that sends it back changes nothing. */
const readOnly = ['id', 'org_id', 'msp_id', 'for_site', 'created_time', 'modified_time']

/** Merges a client's body over the stored settings, top level only. */
export function mergeSetting(before: Document, body: Document): Record<string, unknown> {
  return omitFields(mergeDocument(before, body), readOnly)
}

const secretName = /(^|_)(password|passphrase|secret|psk|key|keypair|kek|mack|token|apitoken)$/i

/** The document without texts whose names say that they are secrets, at any depth. */
export function omitSecrets(document: Document): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(document)
      .filter(([name, value]) => !(typeof value === 'string' && secretName.test(name)))
      .map(([name, value]) => [name, withoutSecrets(value)]),
  )
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  return isDocument(value) ? omitSecrets(value) : value
}

function isDocument(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
