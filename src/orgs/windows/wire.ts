import { type TProperties, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { weekdays } from './windows.ts'

const VersionsByModel = Type.Optional(
  Type.Record(Type.String({ maxLength: 100 }), Type.String({ minLength: 1, maxLength: 200 }), {
    maxProperties: 1000,
    description: 'by model; precedes `version`',
  }),
)

/**
 * The automatic upgrades of access points. Clients of the interface know more fields, which are stored.
 * Source: contract, `site_setting_auto_upgrade`.
 */
export const AutoUpgradeSetting = named(
  'AutoUpgrade',
  Type.Object(
    {
      enabled: Type.Optional(Type.Boolean({ default: false })),
      version: Type.Optional(
        Type.Enum(['beta', 'custom', 'stable'], {
          default: 'stable',
          description: 'the label of the version; `custom`: only the models of `custom_versions` are upgraded',
        }),
      ),
      custom_versions: VersionsByModel,
      day_of_week: Type.Optional(
        Type.Enum(['any', ...weekdays, ''], { default: 'any', description: '`any`, or an empty text: daily' }),
      ),
      time_of_day: Type.Optional(
        textOf('timeOfDayOrAny', { default: 'any', description: 'HH:MM on the clock of the site; `any`: 02:00' }),
      ),
    },
    {
      additionalProperties: true,
      description:
        'when the service upgrades access points by itself; that of a site replaces that of its organization',
    },
  ),
)

const onboardingFields = {
  enabled: Type.Optional(Type.Boolean({ default: false })),
  custom_versions: VersionsByModel,
  version: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'a label or a version for all other models' }),
  ),
}
const snapshotField = {
  snapshot: Type.Optional(Type.Boolean({ default: false, description: 'take a recovery snapshot of the version' })),
}

const onboarding = (name: string, auto: TProperties) =>
  Type.Optional(
    named(
      name,
      Type.Object(
        { auto_upgrade: Type.Optional(Type.Object(auto, { additionalProperties: true })) },
        {
          additionalProperties: true,
          description: 'with `auto_upgrade` for devices that connect for the first time; other fields are stored',
        },
      ),
    ),
  )

/**
 * The fields whose `auto_upgrade` concerns devices that connect for the first time.
 * Source: contract, `switch_auto_upgrade`, `juniper_srx_auto_upgrade`, `setting_ssr_auto_upgrade`.
 */
export const onboardingSettings = {
  switch: onboarding('SwitchSetting', { ...onboardingFields, ...snapshotField }),
  juniper_srx: onboarding('SrxSetting', { ...onboardingFields, ...snapshotField }),
  ssr: onboarding('SsrSetting', {
    ...onboardingFields,
    channel: Type.Optional(
      Type.Enum(['alpha', 'beta', 'stable'], {
        default: 'stable',
        description: 'the label for all other models if there is no `version`',
      }),
    ),
  }),
}

/** Signalbox's own, in settings and in requests for upgrades. */
export const MaintenanceWindows = Type.Array(
  named(
    'MaintenanceWindow',
    Type.Object(
      {
        days: Type.Optional(
          Type.Array(Type.Enum([...weekdays]), {
            minItems: 1,
            maxItems: 7,
            description: 'on which it opens; missing: daily',
          }),
        ),
        start: textOf('timeOfDay', { description: 'HH:MM, on the clocks of the site' }),
        end: textOf('endOfDay', { description: 'HH:MM; a time before `start` is on the next day' }),
      },
      { additionalProperties: false },
    ),
  ),
  { maxItems: 20 },
)
