import { describe, expect, it } from 'vitest'
import { advanceDevice } from './advance-device.ts'
import { type DeviceInput, type Effect, isOnline, newDevice, type Profile, resumeDevice } from './device.ts'
import { MAC, NEW, OLD, image, profileOf, replies, upgradeParams, uri, waits } from './test-device.ts'

/** Creates a device with its own clock; `step` returns the effects. */
function run(profile: Profile) {
  let state = newDevice(profile, OLD, 0)
  let nowMs = 0
  const step = (input: DeviceInput): readonly Effect[] => {
    nowMs += 1000
    const next = advanceDevice(profile, state, { input, nowMs })
    state = next.state
    return next.effects
  }
  return {
    step,
    call: (method: string, params = {}, id = 2) => step({ on: 'call', id, method, params: { serial: MAC, ...params } }),
    elapse: () => step({ on: 'elapsed' }),
    get state() {
      return state
    },
  }
}

function changes(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.do === 'record' ? [effect.change] : []))
}

function operations(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) =>
    effect.do === 'notify' ? (JSON.stringify(effect.params).match(/"operation":"\w+"/) ?? []) : [],
  )
}

describe('an access point', () => {
  it('downloads first, then answers the upgrade, and is offline while it writes and boots', () => {
    const profile = profileOf('ap')
    const device = run(profile)
    expect(device.call('upgrade', upgradeParams)).toEqual([{ do: 'download', uri, trust: 'public_cas' }])
    expect(waits(device.step({ on: 'downloaded', image }))).toEqual([10_000])
    const answered = device.elapse()
    expect(replies(answered)).toEqual(['2: 0 Triggering FW upgrade'])
    expect(waits(answered)).toEqual([60_000])
    expect(isOnline(profile, device.state)).toBe(false)
    expect(changes(device.elapse())).toEqual(['flash', 'down'])
    expect(isOnline(profile, device.state)).toBe(false)
    expect(changes(device.elapse())).toEqual(['boot'])
    expect(device.state).toMatchObject({ firmware: NEW, connectReason: 'upgrade', activity: { kind: 'idle' } })
    device.step({ on: 'connected' })
    expect(device.state.connectReason).toBe('socket')
  })

  it('answers 2 if the download fails or the image is for another model', () => {
    const device = run(profileOf('ap'))
    device.call('upgrade', upgradeParams)
    expect(replies(device.step({ on: 'download_failed', text: 'curl_rc 22, http_code 404' }))).toEqual([
      '2: 2 Download failed, curl_rc 22, http_code 404',
    ])
    device.call('upgrade', upgradeParams, 3)
    expect(replies(device.step({ on: 'downloaded', image: { ...image, models: ['WF188'] } }))).toEqual([
      '3: 2 Firmware image validation failed',
    ])
    expect(device.state).toMatchObject({ firmware: OLD, activity: { kind: 'idle' } })
  })

  it('is orphaned by an upgrade that does not keep its identity', () => {
    const profile = profileOf('ap')
    for (const params of [{ uri }, { uri, keep_redirector: false, keep_config: true }]) {
      const device = run(profile)
      device.call('upgrade', params)
      device.step({ on: 'downloaded', image })
      expect(replies(device.elapse())).toEqual(['2: 0 Triggering FW upgrade'])
      expect(changes(device.elapse())).toEqual(['flash', 'orphaned', 'down'])
      expect(changes(device.elapse())).toEqual(['boot'])
      expect(device.state).toMatchObject({ firmware: NEW, activity: { kind: 'idle' }, orphaned: true })
      expect(isOnline(profile, device.state)).toBe(false)
      expect(isOnline(profile, resumeDevice(profile, device.state, 0).state)).toBe(false)
    }
  })

  it('verifies a download by the CA of its gateway if the call requires it', () => {
    const call = { ...upgradeParams, 'use-local-certificates': true }
    expect(run(profileOf('ap')).call('upgrade', call)).toEqual([{ do: 'download', uri, trust: 'gateway_ca' }])
    expect(run(profileOf('switch')).call('upgrade', call)).toContainEqual({ do: 'download', uri, trust: 'public_cas' })
  })

  it('never passes an address with shell characters to its shell', () => {
    for (const character of ['"', "'", '$', '`', '\\', '\n']) {
      const effects = run(profileOf('ap')).call('upgrade', { uri: `http://h/${character}(reboot)` })
      expect(replies(effects)).toEqual(["2: 2 Download failed, uri can't be used"])
    }
  })

  it('accepts a reboot and stays connected for ten more seconds', () => {
    const profile = profileOf('ap')
    const device = run(profile)
    const accepted = device.call('reboot')
    expect([replies(accepted), waits(accepted)]).toEqual([['2: 0 Rebooting'], [10_000]])
    expect(isOnline(profile, device.state)).toBe(true)
    device.elapse()
    expect(isOnline(profile, device.state)).toBe(false)
    device.elapse()
    expect(device.state.connectReason).toBe('reboot')
  })

  it('performs one upgrade after the other, and answers each by its own id', () => {
    const device = run(profileOf('ap'))
    device.call('upgrade', upgradeParams, 7)
    expect(device.call('upgrade', { ...upgradeParams, uri: `${uri}2` }, 8)).toEqual([])
    expect(device.step({ on: 'download_failed', text: 'curl_rc 22, http_code 403' })).toEqual([
      { do: 'reply', id: 7, error: 2, text: 'Download failed, curl_rc 22, http_code 403' },
      { do: 'download', uri: `${uri}2`, trust: 'public_cas' },
    ])
    device.step({ on: 'downloaded', image })
    expect(replies(device.elapse())).toEqual(['8: 0 Triggering FW upgrade'])
  })

  it('shows no sign of a boot when its watchdog restarts its client, and continues its upgrade', () => {
    const device = run(profileOf('ap'))
    device.call('telemetry', { interval: 60, types: ['state'] })
    device.call('upgrade', upgradeParams, 7)
    const { bootedAtMs } = device.state
    expect(device.step({ on: 'client_restarted' })).toEqual([{ do: 'report', everyMs: null }])
    expect(device.state).toMatchObject({ connectReason: 'recovery', bootedAtMs, activity: { kind: 'downloading' } })
    expect(replies(device.call('telemetry', { interval: 60, types: ['state'] }, 8))).toEqual(['8: 0 Success'])
    device.step({ on: 'downloaded', image })
    expect(replies(device.elapse())).toEqual(['7: 0 Triggering FW upgrade'])
  })

  it('never answers an unknown method, and crashes on leds without a pattern', () => {
    const device = run(profileOf('ap'))
    expect(device.call('snapshot')).toEqual([])
    expect(device.call('x-signalbox.reboot', { member: 0 })).toEqual([])
    expect(device.call('leds', { duration: 5 })).toEqual([{ do: 'drop', afterMs: 0 }])
    expect(replies(device.call('leds', { pattern: 'blink', duration: 5 }))).toEqual(['2: 0 Success'])
  })

  it('reports upgradefailed when it returns with the old version', () => {
    const device = run(profileOf('ap', ['old_version']))
    device.call('upgrade', upgradeParams)
    device.step({ on: 'downloaded', image })
    for (let i = 0; i < 3; i++) device.elapse()
    expect(device.state).toMatchObject({
      firmware: OLD,
      connectReason: 'upgradefailed',
      counts: { flashes: 1, boots: 1 },
    })
  })
})

describe('a switch', () => {
  it('answers the upgrade immediately, reports each second, and reboots by itself', () => {
    const device = run(profileOf('switch'))
    const begun = device.call('upgrade', upgradeParams)
    expect(replies(begun)).toEqual(['2: 0 upgrade requested successfully'])
    expect(operations(begun)).toEqual(['"operation":"download"'])
    device.step({ on: 'progress', percent: 40 })
    expect(JSON.stringify(device.elapse())).toContain('"percentage":40')
    expect(operations(device.step({ on: 'downloaded', image }))).toEqual(['"operation":"install"'])
    for (let second = 1; second < 60; second++) expect(operations(device.elapse())).toEqual(['"operation":"install"'])
    const done = device.elapse()
    expect([operations(done), changes(done)]).toEqual([['"operation":"success"'], ['flash', 'down']])
    device.elapse()
    expect(device.state).toMatchObject({ firmware: NEW, untoldBoot: 'reboot' })
    const told = device.step({ on: 'connected' })
    expect(JSON.stringify(told)).toContain(`[${device.state.bootedAtMs / 1000},{"type":"device.reboot"`)
    // The event is sent once per start of the client.
    expect(device.step({ on: 'connected' })).toEqual([])
  })

  it('reports a failed download by an event', () => {
    const device = run(profileOf('switch'))
    device.call('upgrade', upgradeParams)
    const failed = device.step({ on: 'download_failed', text: 'curl_rc 7, http_code 000' })
    expect([replies(failed), operations(failed)]).toEqual([[], ['"operation":"fail"']])
  })

  it('is busy during an upgrade', () => {
    const device = run(profileOf('switch'))
    device.call('upgrade', upgradeParams)
    expect(replies(device.call('upgrade', upgradeParams, 3))).toEqual(['3: 1 Upgrade already in progress'])
  })

  it('goes down as soon as it accepts a reboot, and answers unknown methods with success', () => {
    const profile = profileOf('switch')
    const device = run(profile)
    expect(replies(device.call('snapshot'))).toEqual(['2: 0 Success'])
    expect(replies(device.call('reboot', {}, 3))).toEqual(['3: 0 Rebooting'])
    expect(isOnline(profile, device.state)).toBe(false)
  })

  it('restarts single members of a Virtual Chassis; a restart of the master breaks the connection', () => {
    const member = (place: number) => ({
      member: place,
      mac: `02000000b00${place}`,
      serial: `M${place}`,
      model: 'ECS4150',
    })
    const device = run({ ...profileOf('switch'), members: [member(0), member(1)] })
    const second = device.call('x-signalbox.reboot', { member: 1 })
    expect([replies(second), changes(second)]).toEqual([['2: 0 Rebooting'], ['part_boot']])
    expect(second).not.toContainEqual({ do: 'drop', afterMs: 0 })
    expect(device.call('x-signalbox.reboot', { member: 0 })).toContainEqual({ do: 'drop', afterMs: 0 })
    expect(replies(device.call('x-signalbox.reboot', { member: 2 }))).toEqual(['2: 1 No member 2'])
    expect(replies(device.call('x-signalbox.reboot', { node: 'node0' }))).toEqual(['2: 1 No node0'])
    expect(replies(device.call('x-signalbox.reboot'))).toEqual(['2: 1 Invalid parameters'])
    expect(device.state.counts).toMatchObject({ partBoots: 2, boots: 0 })
  })
})

describe('every device', () => {
  it.each(['ap', 'switch'] as const)('(%s) acknowledges a request, then sends the requested report', (type) => {
    const device = run(profileOf(type))
    const effects = device.call('request', { message: 'state', request_uuid: 'r1' })
    expect(effects.map((effect) => effect.do)).toEqual(['reply', 'notify'])
    expect(effects[1]).toMatchObject({ method: 'state', params: { serial: MAC, request_uuid: 'r1' } })
    expect(replies(device.call('request', { message: 'state' }))).toEqual(['2: 1 Invalid parameters'])
  })

  it.each(['ap', 'switch'] as const)('(%s) reports on request, until it boots', (type) => {
    const device = run(profileOf(type))
    const order = { interval: 60, types: ['state'] }
    const report = { do: 'report', everyMs: 60_000 }
    expect(device.call('telemetry', order)).toContainEqual(report)
    const again = device.call('telemetry', order)
    if (type === 'switch') expect(again).toContainEqual(report)
    else expect(replies(again)).toEqual(['2: 2 Invalid Arguments'])
    expect(device.call('telemetry', { interval: 0 })).toContainEqual({ do: 'report', everyMs: null })
    device.call('telemetry', order)
    device.call('reboot')
    while (device.state.counts.boots === 0) device.elapse()
    expect(device.call('telemetry', order)).toContainEqual(report)
  })

  it.each(['ap', 'switch'] as const)(
    '(%s) refuses calls with the fault, and drops calls for another device',
    (type) => {
      const device = run(profileOf(type, ['refuse']))
      expect(replies(device.call('reboot'))).toEqual(['2: 1 Reboot refused'])
      expect(replies(device.call('upgrade', upgradeParams))).toEqual(['2: 2 Invalid signature'])
      expect(device.call('reboot', { serial: '02000000ffff' })).toEqual([])
    },
  )

  it('never returns with one fault, and flaps with the other', () => {
    const lost = run(profileOf('switch', ['never_return']))
    expect(changes(lost.call('reboot'))).toEqual(['lost'])
    expect(lost.elapse()).toEqual([])
    const flapping = run(profileOf('ap', ['flap']))
    for (let i = 0; i < 3; i++) expect(flapping.step({ on: 'connected' })).toEqual([{ do: 'drop', afterMs: 15_000 }])
    expect(flapping.step({ on: 'connected' })).toEqual([])
  })
})
