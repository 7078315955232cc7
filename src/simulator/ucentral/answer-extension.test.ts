import { describe, expect, test } from 'vitest'
import { advanceDevice } from './advance-device.ts'
import { type DeviceInput, type Effect, type Profile, newDevice } from './device.ts'
import { realPace, timingOf } from '../pace.ts'
import { connectParams } from './telemetry.ts'

const mac = '02000000a001'
const uri = 'https://example.test/a'
const sha256 = 'ab'.repeat(32)
const image = { sha256, version: '2.0.0', models: null }
const capable: Profile = {
  mac,
  serial: 'S1',
  model: 'ECS4150',
  type: 'switch',
  members: [],
  cluster: false,
  methods: ['stage', 'activate', 'restore_backup', 'snapshot'],
  faults: new Set(),
  timing: timingOf(realPace, new Set()),
}

function run(profile: Profile) {
  let state = newDevice(profile, '1.0.0', 0)
  let nowMs = 0
  const step = (input: DeviceInput): readonly Effect[] => {
    const next = advanceDevice(profile, state, { input, nowMs: (nowMs += 1000) })
    state = next.state
    return next.effects
  }
  const call = (method: string, params: object = {}): string | undefined => {
    const input = { on: 'call' as const, id: 7, method: `x-signalbox.${method}`, params: { serial: mac, ...params } }
    return replyIn(step(input))
  }
  const untilIdle = (): void => {
    while (state.activity.kind !== 'idle') step({ on: 'elapsed' })
  }
  const upgrade = (): void => {
    call('stage', { uri, sha256 })
    step({ on: 'downloaded', image })
    call('activate', { sha256 })
    untilIdle()
  }
  return { step, call, upgrade, untilIdle, state: () => state, said: () => connectParams(profile, state).capabilities }
}

function replyIn(effects: readonly Effect[]): string | undefined {
  const reply = effects.find((effect) => effect.do === 'reply')
  return reply && `${reply.error} ${reply.text}`
}

describe('a capable switch', () => {
  test('keeps an image, installs it when it is told to, and returns to what it ran before', () => {
    const device = run(capable)
    expect(device.said()).toMatchObject({ 'x-signalbox': { methods: capable.methods, backup_version: null } })
    expect(device.call('restore_backup')).toBe('2 No such backup version')
    expect(device.call('activate', { sha256 })).toBe('2 No such image is staged')
    expect(device.call('stage', { uri, sha256 })).toBeUndefined()
    expect(device.call('snapshot')).toBe('1 Device is busy')
    expect(replyIn(device.step({ on: 'downloaded', image }))).toBe('0 Staged')
    expect(device.state()).toMatchObject({ firmware: '1.0.0', activity: { kind: 'idle' } })
    expect(device.call('stage', { uri, sha256 })).toBe('0 Staged before')
    expect(device.call('activate', { sha256 })).toBe('0 Installing')
    device.untilIdle()
    expect(device.state()).toMatchObject({ firmware: '2.0.0', backup: '1.0.0', counts: { downloads: 1, flashes: 1 } })
    expect(device.said()).toMatchObject({ 'x-signalbox': { backup_version: '1.0.0' } })
    expect(device.call('restore_backup', { version: '0.9.0' })).toBe('2 No such backup version')
    expect(device.call('restore_backup', { version: '1.0.0' })).toBe('0 Returning to 1.0.0')
    device.untilIdle()
    expect(device.state()).toMatchObject({ firmware: '1.0.0', backup: '2.0.0', counts: { flashes: 1, boots: 2 } })
    expect(device.call('snapshot')).toBe('0 Snapshot taken')
  })

  test('loses power while it restores, comes back with the present version, and may be asked again', () => {
    const device = run({ ...capable, faults: new Set(['lose_power']) })
    device.upgrade()
    expect(device.call('restore_backup')).toBe('0 Returning to 1.0.0')
    device.untilIdle()
    expect(device.state()).toMatchObject({
      firmware: '2.0.0',
      backup: '1.0.0',
      untoldBoot: 'powerloss',
      upgraded: true,
    })
    expect(device.call('restore_backup')).toBe('0 Returning to 1.0.0')
  })

  test('loses its connection with the first request of a restore, and executes the second', () => {
    const device = run({ ...capable, faults: new Set(['lose_restore']) })
    device.upgrade()
    const params = { serial: mac }
    const lost = device.step({ on: 'call', id: 7, method: 'x-signalbox.restore_backup', params })
    expect([lost, device.state().firmware]).toEqual([[{ do: 'drop', afterMs: 0 }], '2.0.0'])
    expect(device.call('restore_backup')).toBe('0 Returning to 1.0.0')
  })

  test('is unstable from its upgrade until it has restored its backup version', () => {
    const device = run({ ...capable, faults: new Set(['unstable']) })
    const drop = { do: 'drop', afterMs: 15_000 }
    expect(device.step({ on: 'connected' })).not.toContainEqual(drop)
    device.upgrade()
    for (let connection = 0; connection < 5; connection++) expect(device.step({ on: 'connected' })).toContainEqual(drop)
    device.call('restore_backup')
    device.untilIdle()
    expect(device.step({ on: 'connected' })).not.toContainEqual(drop)
  })

  test('keeps no other image than the one that was meant', () => {
    const device = run(capable)
    device.call('stage', { uri, sha256 })
    const other = { ...image, sha256: 'cd'.repeat(32) }
    expect(replyIn(device.step({ on: 'downloaded', image: other }))).toBe('2 Firmware image validation failed')
    expect(device.call('activate', { sha256 })).toBe('2 No such image is staged')
    device.call('stage', { uri, sha256 })
    expect(replyIn(device.step({ on: 'download_failed', text: 'curl_rc 7' }))).toBe('2 Download failed, curl_rc 7')
  })
})

test('a stock switch answers the calls with success and does nothing, as a real one does', () => {
  const device = run({ ...capable, methods: [] })
  expect(device.said()).not.toHaveProperty('x-signalbox')
  for (const method of capable.methods) expect(device.call(method, { uri, sha256 })).toBe('0 Success')
  expect(device.state()).toMatchObject({ activity: { kind: 'idle' } })
})
