import type { DeviceType } from '../device.ts'

/** Known models. A device of any other model is accepted if its type is known otherwise. */
export const deviceModels: readonly { readonly model: string; readonly type: DeviceType }[] = [
  ...['AP12', 'AP24', 'AP32', 'AP33', 'AP34', 'AP43', 'AP45', 'AP47', 'AP63', 'AP64'].map(ap),
  ...['EAP101', 'EAP102', 'EAP104', 'EAP105', 'OAP101'].map(ap),
  ...['ECS2100-28P', 'ECS4100-12PH', 'ECS4125-10P', 'ECS4150-28P', 'ECS4150-54T'].map(ofSwitch),
  ...['EX2300-24P', 'EX3400-48P', 'EX4100-48P', 'EX4300-48P', 'EX4400-48P', 'QFX5120-48Y'].map(ofSwitch),
  ...['SRX300', 'SRX320', 'SRX340', 'SRX345', 'SRX380', 'SSR120', 'SSR130', 'SSR1200'].map(gateway),
]

function ap(model: string) {
  return { model, type: 'ap' as const }
}

function ofSwitch(model: string) {
  return { model, type: 'switch' as const }
}

function gateway(model: string) {
  return { model, type: 'gateway' as const }
}
