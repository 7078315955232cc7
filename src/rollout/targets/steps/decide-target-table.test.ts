import { describe, expect, test } from 'vitest'
import {
  type Row,
  answered,
  commands,
  expand,
  rowOf,
  show,
  targets,
} from '../../../../test/support/fleets/target-table.ts'
import { command, decide, ms, offline } from '../../../../test/support/fleets/targets.ts'
import { type TargetState, isTerminal, noCounts } from '../../rollout.ts'
import type { TargetNow } from '../target.ts'
import { keysOf } from '../../../platform/records.ts'

const removed = { 'device removed': 'cancelled: removed' } as const
const ended: Row = ['wait', {}]
/** The same whether or not restores are requested. */
const lost = (becomes: string): Row[1] => ({
  'it is lost for good': becomes,
  'it is lost for good, restores are wanted': becomes,
  'lost for good on the old version': becomes,
})
/** The same whether or not the server turned clients away. */
const refused = (becomes: string): Row[1] => ({
  'command refused': becomes,
  'command refused, server crowded': becomes,
  'command refused after a byte, server crowded': becomes,
})
/** For a target whose command was sent and can still be refused. */
const answers = {
  'on the version': 'verifying',
  'connection lost, back on the version': 'verifying',
  'on the version for the soak': 'upgraded',
  'command done': 'rebooting',
  ...refused('again: full'),
  'content refused': 'failed: bad',
  'connection lost, image there': 'rebooting',
  'connection lost, image there, device idle': 'command upgrade',
  ...removed,
} as const

const table: Readonly<Record<TargetState, Row>> = {
  planned: [
    'command upgrade',
    {
      ...lost('deferred'),
      'the window is closed': 'wait',
      'its download has no turn': 'wait',
      'its reboot has no turn': 'wait',
      offline: 'deferred',
      'on the version': 'skipped',
      'connection lost, back on the version': 'skipped',
      'on the version for the soak': 'skipped',
      'upgrade stops': 'cancelled',
      'upgrade is held': 'wait',
      ...removed,
    },
  ],
  deferred: [
    'wait',
    {
      connected: 'command upgrade',
      'connection lost, image there, device idle': 'command upgrade',
      'back on the old version': 'command upgrade',
      'on the old version for the soak': 'command upgrade',
      'on the version': 'skipped',
      'connection lost, back on the version': 'skipped',
      'on the version for the soak': 'skipped',
      'upgrade stops': 'cancelled',
      'everything times out': 'failed: offline',
      ...removed,
    },
  ],
  dl_requested: [
    'wait',
    {
      ...lost('fence'),
      ...answers,
      // A device that got nothing of the image is not at fault.
      'command refused, server crowded': 'again: download_refused',
      'a byte is downloaded': 'downloading',
      'all is downloaded': 'downloading',
      'upgrade stops': 'fence',
      'everything times out': 'fence',
    },
  ],
  downloading: ['wait', { ...answers, ...lost('fence'), 'upgrade stops': 'fence', 'everything times out': 'fence' }],
  downloaded: [
    'command activate',
    {
      ...lost('deferred'),
      'the window is closed': 'wait',
      'its reboot has no turn': 'wait',
      offline: 'deferred',
      'on the version': 'verifying',
      'connection lost, back on the version': 'verifying',
      'on the version for the soak': 'verifying',
      'upgrade stops': 'cancelled',
      'upgrade is held': 'wait',
      ...removed,
    },
  ],
  // Nothing can prevent a device from activating an image that it has.
  reboot_requested: [
    'wait',
    {
      ...answers,
      ...lost('rebooting'),
      'connection lost, image there, device idle': 'command activate',
      'everything times out': 'rebooting',
    },
  ],
  rebooting: [
    'wait',
    {
      'it is lost for good': 'failed: no_reconnect',
      'it is lost for good, restores are wanted': 'rolling_back: no_reconnect',
      'lost for good on the old version': 'failed: no_reconnect',
      'on the version': 'verifying',
      'connection lost, back on the version': 'verifying',
      'on the version for the soak': 'upgraded',
      'back on the old version': 'failed: not_applied',
      'on the old version for the soak': 'failed: not_applied',
      ...refused('deferred: full'),
      'content refused': 'failed: bad',
      'connection lost, image there, device idle': 'command upgrade',
      'everything times out': 'failed: no_reconnect',
      ...removed,
    },
  ],
  verifying: [
    'wait',
    {
      'it is lost for good': 'failed: unstable',
      'it is lost for good, restores are wanted': 'rolling_back: unstable',
      'lost for good on the old version': 'failed: members_behind',
      connected: 'failed: not_applied',
      'connection lost, image there, device idle': 'failed: not_applied',
      'back on the old version': 'failed: not_applied',
      'on the old version for the soak': 'failed: not_applied',
      'on the version for the soak': 'upgraded',
      'everything times out': 'upgraded',
      ...removed,
    },
  ],
  snapshotting: [
    'wait',
    {
      ...lost('upgraded: timeout'),
      'command done': 'upgraded',
      ...refused('upgraded: full'),
      'content refused': 'upgraded: bad',
      'connection lost, image there': 'upgraded: connection_lost',
      'connection lost, back on the version': 'upgraded: connection_lost',
      'connection lost, image there, device idle': 'upgraded: gateway_lost',
      'device removed': 'upgraded: removed',
      'everything times out': 'upgraded: timeout',
    },
  ],
  // Neither a stop nor a pause prevents a device from restoring its former version.
  rolling_back: [
    'wait',
    {
      ...lost('failed: rollback_failed'),
      'lost for good on the old version': 'failed: rolled_back_unstable',
      'connection lost, back on the version': 'command restore_backup',
      'on the old version for the soak': 'failed: rolled_back',
      ...refused('failed: rollback_failed'),
      'content refused': 'failed: rollback_failed',
      'everything times out': 'failed: rollback_failed',
      ...removed,
    },
  ],
  upgraded: ended,
  staged: ended,
  failed: ended,
  skipped: ended,
  cancelled: ended,
}

const states = keysOf(noCounts)

describe('the table of the states of a target', () => {
  test.each(states)('%s', (state) => {
    expect(rowOf(targets[state])).toEqual(expand(table[state]))
  })

  test('leaves no state that ends, and commands nothing while the upgrade stops or is held', () => {
    for (const state of states.filter(isTerminal)) expect(table[state]).toEqual(['wait', {}])
    for (const state of states)
      for (const name of ['upgrade stops', 'upgrade is held'] as const)
        expect(rowOf(targets[state])[name]).not.toMatch(/^command/)
  })
})

/** Targets in phases of the downloads whose reboots have no turn. */
const inDownloads = {
  planned: targets.planned,
  deferred: targets.deferred,
  dl_requested: { ...targets.dl_requested, command: command('sent', { kind: 'stage' }) },
  downloading: { ...targets.downloading, command: command('sent', { kind: 'stage' }) },
  downloaded: targets.downloaded,
} as const satisfies Partial<Record<TargetState, TargetNow>>

const loading = {
  ...answers,
  ...lost('fence'),
  'command done': 'downloaded',
  'connection lost, image there': 'downloaded',
  'connection lost, image there, device idle': 'command stage',
  'upgrade stops': 'fence',
  'everything times out': 'fence',
} as const

const downloadTable: Readonly<Record<keyof typeof inDownloads, Row>> = {
  planned: [
    'command stage',
    {
      offline: 'deferred',
      ...lost('deferred'),
      'on the version': 'skipped',
      'connection lost, back on the version': 'skipped',
      'on the version for the soak': 'skipped',
      'the window is closed': 'wait',
      'its download has no turn': 'wait',
      'upgrade stops': 'cancelled',
      'upgrade is held': 'wait',
      ...removed,
    },
  ],
  deferred: [
    'wait',
    {
      connected: 'command stage',
      'connection lost, image there, device idle': 'command stage',
      'back on the old version': 'command stage',
      'on the old version for the soak': 'command stage',
      'on the version': 'skipped',
      'connection lost, back on the version': 'skipped',
      'on the version for the soak': 'skipped',
      'upgrade stops': 'cancelled',
      ...removed,
    },
  ],
  dl_requested: [
    'wait',
    {
      ...loading,
      'command refused, server crowded': 'again: download_refused',
      'a byte is downloaded': 'downloading',
      'all is downloaded': 'downloading',
    },
  ],
  downloading: ['wait', loading],
  // It has its image, so only its reboot can end it.
  downloaded: ['wait', { 'upgrade stops': 'cancelled', ...removed }],
}

describe('the table of the states of a target in a phase of the downloads', () => {
  test.each(keysOf(inDownloads))('%s', (state) => {
    const { device } = inDownloads[state]
    const target = { ...inDownloads[state], downloadPhase: 1, device: device && { ...device, commands } }
    expect(rowOf(target, { rebootMs: Infinity })).toEqual(expand(downloadTable[state]))
  })
})

/** How long a device may be away while it reboots. */
test.each([
  ['ap', [], 10],
  ['switch', [], 20],
  ['gateway', [], 20],
  ['switch', ['1.0', '1.0'], 30],
] as const)('a rebooting %s with the members %j has %i minutes', (type, memberFirmware, minutes) => {
  const target = { ...targets.rebooting, device: { ...offline, type, memberFirmware } }
  const since = 60 + minutes * 60
  expect(show(decide(target, since - 1))).toBe('wait')
  expect(show(decide(target, since))).toBe('failed: no_reconnect')
})

test('a refused attempt is repeated at most twice, after pauses that double', () => {
  const refused = (failedAttempts: number) =>
    decide({
      ...targets.dl_requested,
      ...answered('rejected', { refusal: 'full' })(targets.dl_requested),
      failedAttempts,
    })
  expect(refused(0)).toMatchObject({ kind: 'pause', retryAtMs: ms(61 + 30) })
  expect(refused(1)).toMatchObject({ kind: 'pause', retryAtMs: ms(61 + 60) })
  expect(show(refused(2))).toBe('failed: full')
})

describe('a download that the server may have refused', () => {
  const refuse = (lostAttempts: number, crowdedMs: number | null, more: Partial<TargetNow> = {}) =>
    decide(
      {
        ...targets.dl_requested,
        ...answered('rejected', { refusal: 'full' })(targets.dl_requested),
        failedAttempts: 2,
        lostAttempts,
        ...more,
      },
      61,
      { crowdedMs },
    )

  test('is repeated without counting as failed, after pauses that double up to 16 minutes', () => {
    const again = { kind: 'pause', reason: 'download_refused', failedAttempts: 2 }
    expect(refuse(0, ms(0))).toEqual({ ...again, lostAttempts: 1, retryAtMs: ms(61 + 30) })
    expect(refuse(1, ms(0))).toEqual({ ...again, lostAttempts: 2, retryAtMs: ms(61 + 60) })
    expect(refuse(28, ms(0))).toEqual({ ...again, lostAttempts: 29, retryAtMs: ms(61 + 16 * 60) })
  })

  test('fails its device for this reason after 30 attempts, which take seven hours', () => {
    expect(show(refuse(29, ms(0)))).toBe('failed: download_refused')
  })

  test('counts as failed if the server refused no download since the command', () => {
    expect(show(refuse(0, null))).toBe('failed: full')
    expect(show(refuse(0, ms(0) - 1))).toBe('failed: full')
  })

  test('is none if the device had its image already, even if the refusal of the activation comes late', () => {
    for (const state of ['reboot_requested', 'rebooting'] as const) {
      const activation = command('rejected', { kind: 'activate', refusal: 'full' })
      expect(show(refuse(0, ms(0), { state, command: activation }))).toBe('failed: full')
    }
  })

  test('is repeated as well if it had begun, and broke off before the server turned clients away', () => {
    const download = { bytesServed: 9, touchedMs: ms(40), delivered: false, fenced: false }
    for (const state of ['dl_requested', 'downloading'] as const) {
      const again = { kind: 'pause', reason: 'download_refused', failedAttempts: 2, lostAttempts: 1 }
      expect(refuse(0, ms(40), { state, download })).toMatchObject(again)
      expect(show(refuse(0, ms(40) - 1, { state, download }))).toBe('failed: full')
      expect(show(refuse(0, ms(41), { state, download: { ...download, delivered: true } }))).toBe('failed: full')
      expect(show(refuse(0, ms(41), { state, download: { ...download, fenced: true } }))).toBe('failed: full')
    }
  })
})
