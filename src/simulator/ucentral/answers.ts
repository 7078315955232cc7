import type { DeviceInput, DeviceState, Effect, Step } from './device.ts'

type Call = Extract<DeviceInput, { on: 'call' }>

export function accept(call: Call, text: string): Effect {
  return { do: 'reply', id: call.id, error: 0, text }
}

export function refuse(state: DeviceState, call: Call, error: number, text: string): Step {
  return { state, effects: [{ do: 'reply', id: call.id, error, text }] }
}
