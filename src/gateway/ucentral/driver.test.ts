import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DriverCommand, DriverDevice, Outcome, UpgradeStep } from '../driver.ts'
import { ucentralDriver } from './driver.ts'
import { type Capabilities, type GatewayMethod, isGatewayCall } from './messages.ts'

const ap: DriverDevice = { mac: '02aabbccddee', type: 'ap' }
const ols: DriverDevice = { ...ap, type: 'switch' }
const image = { version: '2.0.0', sha256: 'ab'.repeat(32) }
const uri = 'https://example.test/firmware/a'
const file = { sizeBytes: 1000, signature: null }
const upgrade = { kind: 'upgrade', uri, localCertificates: false, ...image, ...file } as const
const restart: DriverCommand = { kind: 'restart' }
type ExtensionMembers = NonNullable<Capabilities['x-signalbox']>['members'] & {}

const reply = (device: DriverDevice, command: DriverCommand, status: unknown): Outcome | null =>
  ucentralDriver.decodeReply(
    { id: 'a', device, kind: command.kind, lastStep: null },
    { result: { serial: device.mac, uuid: 1, status }, error: undefined },
  )
const event = (
  device: DriverDevice,
  command: DriverCommand,
  operation: string,
  lastStep: UpgradeStep | null = null,
): Outcome | null => {
  const status = { type: 'firmware_upgrade_status', payload: { operation } }
  return ucentralDriver.decodeEvent({ id: 'a', device, kind: command.kind, lastStep }, status)
}

function hello(platform: string, methods?: string[], members?: ExtensionMembers): Capabilities {
  const extension = { protocol: 1 as const, methods: methods ?? [], ...(members !== undefined && { members }) }
  return { compatible: 'test_model', platform, ...(methods !== undefined && { 'x-signalbox': extension }) }
}

describe('capabilities', () => {
  const members = [{ member: 1, mac: '02aabbccddef', serial: 's', model: 'm', firmware: '1' }]
  const stock = { restart_members: [], restart_nodes: [] }
  const nodes = ['node0', 'node1']
  const stockSwitch = ['restart', 'upgrade', 'ping', 'support']
  test.each<[string, Capabilities, unknown]>([
    [
      'an access point',
      hello('AP'),
      { ...stock, commands: ['restart', 'upgrade', 'locate', 'unlocate', 'ping', 'support'] },
    ],
    // The switch client does not know `leds`, and answers success.
    ['a switch', hello('Switch'), { ...stock, commands: ['restart', 'upgrade', 'ping', 'support'] }],
    [
      'an access point that runs signed scripts only',
      { ...hello('ap'), restrictions: { commands: true } },
      { ...stock, commands: ['restart', 'upgrade', 'locate', 'unlocate', 'support'] },
    ],
    [
      'such an access point of a developer',
      { ...hello('ap'), restrictions: { commands: true, sysupgrade: true }, developer: true },
      { commands: expect.arrayContaining(['ping', 'upgrade']) },
    ],
    [
      'an access point that installs signed firmware only',
      { ...hello('ap'), restrictions: { sysupgrade: 1, commands: 0 } },
      {
        ...stock,
        commands: ['restart', 'locate', 'unlocate', 'ping', 'support'],
        refusals: { upgrade: expect.stringContaining('only firmware that its maker has signed') },
      },
    ],
    [
      'one that could also restore its backup, but has none',
      {
        ...hello('ap'),
        'x-signalbox': { protocol: 1, methods: ['restore_backup'], backup_version: null },
        restrictions: { sysupgrade: true },
      },
      { refusals: { upgrade: expect.any(String), restore_backup: 'no backup version' } },
    ],
    ['a switch that restarts parts', hello('switch', ['reboot']), { restart_members: 'any', restart_nodes: nodes }],
    ['one that lists them', hello('switch', ['reboot'], members), { restart_members: [1], restart_nodes: nodes }],
    ['one that offers half of an upgrade', hello('switch', ['stage'], members), { ...stock, commands: stockSwitch }],
    [
      'one that offers unknown methods',
      hello('switch', ['explode', 'toString'], members),
      { ...stock, commands: stockSwitch },
    ],
    [
      'a capable switch',
      hello('switch', ['reboot', 'stage', 'activate', 'restore_backup', 'snapshot'], members),
      { commands: [...stockSwitch, 'stage', 'activate', 'restore_backup', 'snapshot'], restart_members: [1] },
    ],
  ])('of %s', (_, said, expected) => {
    expect(ucentralDriver.capabilitiesOf(said)).toMatchObject(expected as object)
  })

  test('say what a restore returns to, or that there is nothing', () => {
    const said = (backup: string | null | undefined) =>
      ucentralDriver.capabilitiesOf({
        ...hello('switch'),
        'x-signalbox': {
          protocol: 1,
          methods: ['restore_backup'],
          ...(backup !== undefined && { backup_version: backup }),
        },
      })
    expect(said('1.0.0')).toMatchObject({ commands: [...stockSwitch, 'restore_backup'], backup_version: '1.0.0' })
    expect(said(undefined)).toEqual({ ...stock, commands: [...stockSwitch, 'restore_backup'] })
    expect(said(null)).toEqual({ ...stock, commands: stockSwitch, refusals: { restore_backup: 'no backup version' } })
  })
})

describe('calls', () => {
  test('reboot immediately', () => {
    expect(ucentralDriver.encode(ap, restart)).toEqual({
      kind: 'call',
      call: { method: 'reboot', params: { serial: ap.mac, when: 0 } },
      timeoutMs: 30_000,
    })
  })

  test('upgrade waits for a download on an access point, and for the installation on a switch', () => {
    const params = { serial: ap.mac, when: 0, uri, keep_redirector: true, keep_config: true }
    const call = { method: 'upgrade', params }
    expect(ucentralDriver.encode(ap, upgrade)).toEqual({ kind: 'call', call, timeoutMs: 660_000 })
    expect(ucentralDriver.encode(ols, upgrade)).toEqual({ kind: 'call', call, timeoutMs: 1_800_000 })
  })

  test('let an access point verify the download by its own CA if that signed it, and omit the option otherwise', () => {
    const params = (device: DriverDevice, localCertificates: boolean) => {
      const encoded = ucentralDriver.encode(device, { ...upgrade, localCertificates })
      return encoded.kind === 'call' ? encoded.call.params : null
    }
    expect(params(ap, true)).toMatchObject({ 'use-local-certificates': true })
    expect(params(ap, false)).not.toHaveProperty('use-local-certificates')
    expect(params(ols, false)).not.toHaveProperty('use-local-certificates')
  })

  test('never make a switch download from a server whose certificate it does not trust', () => {
    expect(ucentralDriver.encode(ols, { ...upgrade, localCertificates: true })).toEqual({
      kind: 'rejected',
      code: 'untrusted_certificate',
      text: 'The switch trusts only public CAs, but the device CA signed the certificate of the firmware server',
      final: true,
    })
  })

  test('refuse an address that a shell of the device would execute', () => {
    const bad = fc.constantFrom(...'\'"`$\\&; \n\u0000\u007f'.split(''))
    fc.assert(
      fc.property(bad, (evil) => {
        const encoded = ucentralDriver.encode(ap, { ...upgrade, uri: `https://example.test/a${evil}x` })
        expect(encoded).toMatchObject({ kind: 'rejected', code: 'unsafe_uri', final: true })
        const staged = ucentralDriver.encode(ols, { ...upgrade, kind: 'stage', uri: `https://example.test/a${evil}x` })
        expect(staged).toEqual(encoded)
      }),
    )
  })

  test('restart a part by the call that the device offers for it', () => {
    expect(ucentralDriver.encode(ols, { ...restart, member: 1 })).toMatchObject({
      call: { method: 'x-signalbox.reboot', params: { serial: ols.mac, member: 1 } },
    })
  })

  test.each<[DriverCommand, string, object]>([
    [{ ...upgrade, kind: 'stage' }, 'stage', { uri, sha256: image.sha256 }],
    [
      { ...upgrade, kind: 'stage', localCertificates: true },
      'stage',
      { uri, sha256: image.sha256, 'use-local-certificates': true },
    ],
    [{ kind: 'activate', ...image }, 'activate', { sha256: image.sha256 }],
    [{ kind: 'restore_backup' }, 'restore_backup', {}],
    [{ kind: 'restore_backup', version: '1.0.0' }, 'restore_backup', { version: '1.0.0' }],
    [{ kind: 'snapshot' }, 'snapshot', {}],
  ])('of the extension: %o', (command, method, params) => {
    const encoded = ucentralDriver.encode(ols, command)
    expect(encoded).toEqual({
      kind: 'call',
      call: { method: `x-signalbox.${method}`, params: { serial: ols.mac, ...params } },
      timeoutMs: 1_800_000,
    })
    expect(isGatewayCall(`x-signalbox.${method}` as GatewayMethod, { serial: ols.mac, ...params })).toBe(true)
  })

  test('need no certificate for an address without TLS, from which every device can download', () => {
    const plain = { ...upgrade, uri: 'http://example.test/firmware/a', localCertificates: true }
    for (const device of [ols, ap]) {
      const encoded = ucentralDriver.encode(device, plain)
      expect(encoded).toMatchObject({ kind: 'call', call: { params: { uri: plain.uri } } })
      expect(encoded).not.toHaveProperty(['call', 'params', 'use-local-certificates'])
    }
  })

  test('make LEDs blink, and restore them afterwards instead of turning them off', () => {
    const leds = (kind: 'locate' | 'unlocate') => ucentralDriver.encode(ap, { kind })
    expect(leds('locate')).toEqual({
      kind: 'call',
      call: { method: 'leds', params: { serial: ap.mac, when: 0, duration: 600, pattern: 'blink' } },
      timeoutMs: 30_000,
    })
    expect(leds('unlocate')).toMatchObject({ call: { params: { serial: ap.mac, when: 0, pattern: 'on' } } })
  })
})

describe('replies of real devices', () => {
  test.each([
    [ap, restart, { error: 0, text: 'rebooting' }, { kind: 'done', text: 'rebooting' }],
    [ap, restart, { error: 0 }, { kind: 'done', text: '' }],
    [ap, upgrade, { error: 0, text: 'Triggering FW upgrade' }, { kind: 'done', text: 'Triggering FW upgrade' }],
    [
      ap,
      upgrade,
      { error: 2, text: 'Invalid signature' },
      { kind: 'rejected', code: '2', text: 'Invalid signature', final: true },
    ],
    [
      ap,
      upgrade,
      { error: 2, text: 'Firmware image validation failed' },
      { kind: 'rejected', code: '2', text: 'Firmware image validation failed', final: true },
    ],
    [
      ap,
      upgrade,
      { error: 2, text: 'Download failed, http_code 404' },
      { kind: 'rejected', code: '2', text: 'Download failed, http_code 404', final: false },
    ],
    [ols, upgrade, { error: 0, text: 'upgrade requested successfully' }, { kind: 'accepted' }],
    [ols, upgrade, { error: 1, text: 'busy' }, { kind: 'rejected', code: '1', text: 'busy', final: false }],
  ] as const)('%o %o %o', (device, command, status, outcome) => {
    expect(reply(device, command, status)).toEqual(outcome)
  })

  test('accepts that an access point without a configuration first reports so, and upgrades nevertheless', () => {
    expect(reply(ap, upgrade, { error: 2, text: 'Unable to determine active configuration: No such file' })).toBeNull()
    expect(reply(ap, upgrade, { error: 0, text: 'Triggering FW upgrade' })).toMatchObject({ kind: 'done' })
  })

  test('treats an error of a call that was not executed as a refusal; another error proves nothing', () => {
    const answer = (code: number): Outcome | null =>
      ucentralDriver.decodeReply(
        { id: 'a', device: ap, kind: 'restart', lastStep: null },
        { result: undefined, error: { code, message: 'no' } },
      )
    expect(answer(-32601)).toEqual({ kind: 'rejected', code: '-32601', text: 'no', final: true })
    expect(answer(-32603)).toBeNull()
  })
})

describe('events', () => {
  test('end the upgrade of a switch, and no other command', () => {
    expect(event(ols, upgrade, 'success')).toEqual({ kind: 'done', text: null })
    for (const step of ['download', 'install'] as const)
      expect(event(ols, upgrade, step)).toEqual({ kind: 'accepted', step })
    expect(event(ols, upgrade, 'idle')).toBeNull()
    expect(event(ols, restart, 'success')).toBeNull()
    expect(event(ap, upgrade, 'success')).toBeNull()
    const other = { type: 'other', payload: { operation: 'success' } }
    const sent = { id: 'a', device: ols, kind: 'upgrade', lastStep: null } as const
    expect(ucentralDriver.decodeEvent(sent, other)).toBeNull()
  })

  test('contain the step at which the upgrade of a switch failed', () => {
    const installFailed = {
      kind: 'rejected',
      code: 'install_failed',
      text: 'the device could not install it',
      final: false,
    }
    const downloadFailed = { ...installFailed, code: 'download_failed', text: 'the device could not download it' }
    expect(event(ols, upgrade, 'fail', 'download')).toEqual(downloadFailed)
    expect(event(ols, upgrade, 'fail', 'install')).toEqual(installFailed)
    expect(event(ols, upgrade, 'fail')).toEqual(installFailed)
  })
})
