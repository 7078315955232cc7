import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'

/** Every tenth device is a switch, and every fifth switch is a Virtual Chassis of three members. */
const SWITCH_EVERY = 10
const CHASSIS_EVERY = 50

export const fleetModels = ['EAP102', 'ECS4125-10P', 'EX4100-48P'] as const

export function planFleet(count: number, firmware: string): PlannedDevice[] {
  return Array.from({ length: count }, (_, index): PlannedDevice => {
    const identity = identityOf(index, 0)
    if (index % SWITCH_EVERY > 0) return { ...identity, model: fleetModels[0], type: 'ap', firmware }
    if (index % CHASSIS_EVERY > 0) return { ...identity, model: fleetModels[1], type: 'switch', firmware }
    const model = fleetModels[2]
    const members = [0, 1, 2].map((member) => Object.assign(identityOf(index, member), { member, model }))
    return { ...identity, model, type: 'switch', firmware, members }
  })
}

/** The MAC is locally administered, so no real device has it. */
function identityOf(index: number, member: number) {
  const number = index * 16 + member
  return { mac: `02${number.toString(16).padStart(10, '0')}`, serial: `SOAK${String(number).padStart(8, '0')}` }
}
