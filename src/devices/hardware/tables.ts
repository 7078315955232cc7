import type { GeneratedAlways } from 'kysely'
import type { DeviceType } from '../../events/device-type.ts'
import type { Json } from '../../platform/database/json-column.ts'
import type { Hardware } from './hardware.ts'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    deviceHardware: DeviceHardwareTable
  }
}

/** See migration 91. */
export interface DeviceHardwareTable {
  orgId: string
  deviceId: string
  /** The type of the device, which never changes. */
  type: DeviceType
  hardware: Json<Hardware>
  sku: GeneratedAlways<string | null>
}
