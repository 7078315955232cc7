import { Type } from 'typebox'
import { MAX_EPOCH_S } from '../platform/time/clock.ts'
import { textOf } from '../http/texts.ts'
import { MaintenanceWindows } from '../orgs/windows/wire.ts'

/** Signalbox's own field of requests for upgrades. */
export const windowFields = {
  maintenance_windows: Type.Optional({
    ...MaintenanceWindows,
    description:
      'devices begin only within them, on the clocks of each site; missing: those of the settings of each site; empty: at any time',
  }),
}

/** Signalbox's own field of requests for upgrades, and of answers about them; missing in these: it has none. */
export const nameField = {
  name: Type.Optional(
    textOf('visible', {
      minLength: 1,
      maxLength: 100,
      description: 'what people call the upgrade, in lists and alarms',
    }),
  ),
}

/** Signalbox's own field of requests for upgrades. Clients that always send a number send 0 for none. */
export const endField = {
  end_time: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_EPOCH_S,
      description:
        'epoch seconds; no device begins from then on, and the upgrade stops as if it was cancelled; 0: none',
    }),
  ),
}

export function presentName(name: string | null): { readonly name?: string } {
  return name === null ? {} : { name }
}

/** The end in answers about an upgrade; missing: it has none. */
export const endsField = {
  end_time: Type.Optional(Type.Number({ description: 'when the upgrade stops by itself' })),
}

/** Signalbox's own field of requests for upgrades. */
export const supersedeField = {
  supersede: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'true: take over devices that other upgrades have not begun',
    }),
  ),
}

/** Signalbox's own field of requests for upgrades that select devices by their sites. */
export const includeField = {
  include_new: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'true: devices that join a site later, or match only later, are taken in until the upgrade ends, and those of other upgrades also later',
    }),
  ),
}
