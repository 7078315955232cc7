import { Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { weekdays } from './windows.ts'

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
