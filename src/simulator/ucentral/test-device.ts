import type { Fault } from '../faults.ts'
import { realPace, timingOf } from '../pace.ts'
import type { Effect, Profile } from './device.ts'

export const MAC = '02000000a001'
export const OLD = '1.0.0'
export const NEW = '2.0.0'
const sha256 = 'ab'.repeat(32)
export const image = { sha256, version: NEW, models: ['EAP101', 'ECS4150'] }

export function profileOf(type: 'ap' | 'switch', given: readonly Fault[] = []): Profile {
  const own = new Set(given)
  const model = type === 'ap' ? 'EAP101' : 'ECS4150'
  return {
    mac: MAC,
    serial: 'S1',
    model,
    type,
    members: [],
    cluster: false,
    methods: [],
    faults: own,
    timing: timingOf(realPace, own),
  }
}

export const uri = 'http://127.0.0.1/firmware/x'
export const upgradeParams = { when: 0, uri, keep_redirector: true, keep_config: true }

export function replies(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.do === 'reply' ? [`${effect.id}: ${effect.error} ${effect.text}`] : []))
}

export function waits(effects: readonly Effect[]): readonly number[] {
  return effects.flatMap((effect) => (effect.do === 'wait' ? [effect.ms] : []))
}
