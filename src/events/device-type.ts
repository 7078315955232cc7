export type DeviceType = 'ap' | 'switch' | 'gateway'
