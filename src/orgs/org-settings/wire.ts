import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { type Reveal, presentSecrets } from '../secrets/secrets.ts'
import { AutoUpgradeSetting, MaintenanceWindows, onboardingSettings } from '../windows/wire.ts'
import type { Setting } from './store.ts'

const PasswordPolicy = named(
  'PasswordPolicy',
  Type.Object(
    {
      enabled: Type.Optional(Type.Boolean({ default: false })),
      min_length: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 128, default: 8, description: 'less than 8 is 8' }),
      ),
      requires_special_char: Type.Optional(Type.Boolean({ default: false })),
      requires_two_factor_auth: Type.Optional(Type.Boolean({ default: false })),
      expiry_in_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_500, description: '0: never' })),
    },
    { additionalProperties: true },
  ),
)

const ApiPolicy = named(
  'ApiPolicy',
  Type.Object(
    {
      no_reveal: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'hide secrets from everyone, not only from callers who may not write',
        }),
      ),
    },
    { additionalProperties: true },
  ),
)

const UpdownMinutes = Type.Optional(
  Type.Union([Type.Integer({ minimum: 0, maximum: 240 }), Type.Null()], {
    description: 'minutes that a device is away before this is reported; 0: immediately',
  }),
)

/** Fields with an effect that organizations and sites have alike. */
export const commonSettings = {
  auto_upgrade: Type.Optional(AutoUpgradeSetting),
  ...onboardingSettings,
  maintenance_windows: Type.Optional(
    Type.Union([MaintenanceWindows, Type.Null()], {
      description: 'devices begin to be upgraded only within them; empty or missing: at any time',
    }),
  ),
  device_updown_threshold: UpdownMinutes,
  ap_updown_threshold: UpdownMinutes,
  switch_updown_threshold: UpdownMinutes,
  gateway_updown_threshold: UpdownMinutes,
}

const Installer = named(
  'InstallerPolicy',
  Type.Object(
    {
      allow_all_devices: Type.Optional(Type.Boolean({ default: false })),
      allow_all_sites: Type.Optional(Type.Boolean({ default: false })),
      extra_site_ids: Type.Optional(Type.Array(Uuid, { maxItems: 10_000 })),
      grace_period: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 36_500, default: 7, description: 'days after the claim' }),
      ),
    },
    { additionalProperties: true },
  ),
)

const settable = {
  ...commonSettings,
  installer: Type.Optional(Installer),
  password_policy: Type.Optional(PasswordPolicy),
  api_policy: Type.Optional(ApiPolicy),
  ui_idle_timeout: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 480, default: 0, description: 'minutes; 0: off' }),
  ),
}

export const SettingBody = named('OrgSettingUpdate', Type.Object(settable, { additionalProperties: true }))
export const SettingReply = named(
  'OrgSetting',
  Type.Object(
    {
      id: Type.String({ format: 'uuid', description: 'of the organization' }),
      org_id: Uuid,
      for_site: Type.Boolean(),
      pcap_bucket_verified: Type.Boolean({ description: 'false: captured packets are not sent anywhere' }),
      ...settable,
      created_time: Type.Optional(Timestamp),
      modified_time: Type.Optional(Timestamp),
    },
    { additionalProperties: true },
  ),
)

/** @param setting Undefined while there are no settings. */
export function presentSetting(
  { orgId, setting }: { readonly orgId: string; readonly setting: Setting | undefined },
  reveal: Reveal,
): Static<typeof SettingReply> {
  const own = { id: orgId, org_id: orgId, for_site: false, pcap_bucket_verified: false }
  if (setting === undefined) return own
  return {
    ...presentSecrets(setting.doc, reveal),
    ...own,
    created_time: epochS(setting.createdAt),
    modified_time: epochS(setting.modifiedAt),
  }
}
