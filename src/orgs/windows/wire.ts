import { Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { weekdays } from './windows.ts'

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
      custom_versions: Type.Optional(
        Type.Record(Type.String({ maxLength: 100 }), Type.String({ minLength: 1, maxLength: 200 }), {
          maxProperties: 1000,
          description: 'by model; precedes `version`',
        }),
      ),
      day_of_week: Type.Optional(Type.Enum(['any', ...weekdays], { default: 'any' })),
      time_of_day: Type.Optional(
        textOf('timeOfDayOrAny', { default: 'any', description: 'HH:MM on the clock of the site; `any`: 02:00' }),
      ),
    },
    { additionalProperties: true },
  ),
)

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
