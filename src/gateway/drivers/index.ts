import type { Driver } from './driver.ts'
import { ucentral } from './ucentral.ts'

export type DriverName = 'ucentral'

export const drivers = { ucentral } as const satisfies Record<DriverName, Driver>
