import { describe, expect, test } from 'vitest'
import {
  command,
  commanded,
  decide,
  ms,
  offline,
  online,
  planned,
  rebooting,
  updated,
  verifying,
} from '../../test/support/targets.ts'
import { type TargetState, isTerminal, noCounts } from './rollout.ts'
import type { CommandNow, DownloadNow, TargetDecision, TargetNow, TargetRules } from './target.ts'

/** Of a device that downloads apart from its reboot. */
const commands = ['stage', 'activate'] as const
const moving: DownloadNow = { bytesServed: 9, touchedMs: ms(60), delivered: false, fenced: false }
const delivered: DownloadNow = { ...moving, delivered: true }

/** A target in each state, as it usually is. Their devices have been commanded a minute ago. */
const targets: Readonly<Record<TargetState, TargetNow>> = {
  planned,
  deferred: { ...planned, state: 'deferred', device: offline },
  dl_requested: commanded('sent'),
  downloading: commanded('sent', { state: 'downloading', download: moving }),
  downloaded: {
    ...commanded('done', { state: 'downloaded', staged: true, device: { ...online, commands } }),
    command: command('done', { kind: 'stage' }),
  },
  reboot_requested: {
    ...commanded('sent', { state: 'reboot_requested', staged: true, device: { ...online, commands } }),
    command: command('sent', { kind: 'activate' }),
  },
  rebooting: { ...rebooting, device: offline },
  verifying,
  snapshotting: { ...verifying, state: 'snapshotting', command: command('sent', { kind: 'snapshot' }) },
  upgraded: { ...verifying, state: 'upgraded' },
  staged: { ...verifying, state: 'staged' },
  failed: { ...verifying, state: 'failed' },
  skipped: { ...planned, state: 'skipped' },
  cancelled: { ...planned, state: 'cancelled' },
}

interface TargetEvent {
  readonly facts?: (target: TargetNow) => Partial<TargetNow>
  readonly seconds?: number
  readonly rules?: Partial<TargetRules>
}

const answered =
  (state: CommandNow['state'], more: Partial<CommandNow> = {}) =>
  ({ command: last }: TargetNow): Partial<TargetNow> => ({
    command: last && { ...command(state, { kind: last.kind }), ...more },
  })

const back =
  (firmware: string) =>
  ({ device }: TargetNow): Partial<TargetNow> => ({
    device: { ...updated, firmware, commands: device?.commands ?? [] },
  })

/** What can happen to a target. */
const events = {
  nothing: {},
  connected: { facts: ({ device }) => ({ device: { ...online, commands: device?.commands ?? [] } }) },
  offline: { facts: () => ({ device: offline }) },
  'on the version': { facts: back('2.0'), seconds: 110 },
  'on the version for the soak': { facts: back('2.0'), seconds: 220 },
  'back on the old version': { facts: back('1.0'), seconds: 110 },
  'a byte is downloaded': { facts: () => ({ download: moving }) },
  'all is downloaded': { facts: () => ({ download: delivered }) },
  'command done': { facts: answered('done') },
  'command refused': { facts: answered('rejected', { refusal: 'full' }) },
  'content refused': { facts: answered('rejected', { refusal: 'bad', refusalIsFinal: true }) },
  'connection lost, image there': {
    facts: (target) => ({ ...answered('unknown', { loss: 'connection_lost' })(target), download: delivered }),
  },
  'upgrade stops': { rules: { stopping: true } },
  'upgrade is held': { rules: { held: true } },
  'device removed': { facts: () => ({ device: null }) },
  'everything times out': { seconds: 100 * 3600, rules: { offlineDeadlineMs: ms(72 * 3600) } },
} as const satisfies Record<string, TargetEvent>

type EventName = keyof typeof events

/** What follows from an event in most cases, and from which events something else does. */
type Row = readonly [usually: string, except: Partial<Readonly<Record<EventName, string>>>]

const removed = { 'device removed': 'cancelled: removed' } as const
const ended: Row = ['wait', {}]
/** Of a target whose command was sent and can still be refused. */
const answers = {
  'on the version': 'verifying',
  'on the version for the soak': 'upgraded',
  'command done': 'rebooting',
  'command refused': 'again: full',
  'content refused': 'failed: bad',
  'connection lost, image there': 'rebooting',
  ...removed,
} as const

const table: Readonly<Record<TargetState, Row>> = {
  planned: [
    'command upgrade',
    {
      offline: 'deferred',
      'on the version': 'skipped',
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
      'back on the old version': 'command upgrade',
      'on the version': 'skipped',
      'on the version for the soak': 'skipped',
      'upgrade stops': 'cancelled',
      'everything times out': 'failed: offline',
      ...removed,
    },
  ],
  dl_requested: [
    'wait',
    {
      ...answers,
      'a byte is downloaded': 'downloading',
      'all is downloaded': 'downloading',
      'upgrade stops': 'fence',
      'everything times out': 'fence',
    },
  ],
  downloading: ['wait', { ...answers, 'upgrade stops': 'fence', 'everything times out': 'fence' }],
  downloaded: [
    'command activate',
    {
      offline: 'deferred',
      'on the version': 'verifying',
      'on the version for the soak': 'verifying',
      'upgrade stops': 'cancelled',
      'upgrade is held': 'wait',
      ...removed,
    },
  ],
  // Nothing can keep a device from activating the image that it has.
  reboot_requested: ['wait', { ...answers, 'everything times out': 'rebooting' }],
  rebooting: [
    'wait',
    {
      'on the version': 'verifying',
      'on the version for the soak': 'upgraded',
      'back on the old version': 'failed: not_applied',
      'command refused': 'deferred: full',
      'content refused': 'failed: bad',
      'everything times out': 'failed: no_reconnect',
      ...removed,
    },
  ],
  verifying: [
    'wait',
    {
      connected: 'failed: not_applied',
      'back on the old version': 'failed: not_applied',
      'on the version for the soak': 'upgraded',
      'everything times out': 'upgraded',
      ...removed,
    },
  ],
  snapshotting: [
    'wait',
    {
      'command done': 'upgraded',
      'command refused': 'upgraded: full',
      'content refused': 'upgraded: bad',
      'connection lost, image there': 'upgraded: connection_lost',
      'device removed': 'upgraded: removed',
      'everything times out': 'upgraded: timeout',
    },
  ],
  upgraded: ended,
  staged: ended,
  failed: ended,
  skipped: ended,
  cancelled: ended,
}

function show(decision: TargetDecision): string {
  switch (decision.kind) {
    case 'move':
      return decision.reason === undefined ? decision.to : `${decision.to}: ${decision.reason}`
    case 'command':
      return `command ${decision.order}`
    case 'pause':
      return `again: ${decision.reason}`
    case 'withdraw':
    case 'fence':
    case 'wait':
      return decision.kind
  }
}

const states = Object.keys(noCounts) as TargetState[] // Object.keys loses the type.
const names = Object.keys(events) as EventName[]

function decided(state: TargetState, name: EventName): string {
  const { facts, seconds = 61, rules }: TargetEvent = events[name]
  const target = targets[state]
  return show(decide({ ...target, ...facts?.(target) }, seconds, rules))
}

describe('the table of the states of a target', () => {
  test.each(states)('%s', (state) => {
    const row = Object.fromEntries(names.map((name) => [name, decided(state, name)]))
    const [usually, except] = table[state]
    expect(row).toEqual({ ...Object.fromEntries(names.map((name) => [name, usually])), ...except })
  })

  test('leaves no state that ends, and commands nothing while the upgrade stops or is held', () => {
    for (const state of states.filter(isTerminal)) expect(table[state]).toEqual(['wait', {}])
    for (const state of states)
      for (const name of ['upgrade stops', 'upgrade is held'] as const)
        expect(decided(state, name)).not.toMatch(/^command/)
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
