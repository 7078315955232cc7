import type { TargetState } from '../../../src/rollout/rollout.ts'
import type {
  CommandNow,
  DownloadNow,
  TargetDecision,
  TargetNow,
  TargetRules,
} from '../../../src/rollout/targets/target.ts'
import { command, commanded, decide, ms, offline, online, planned, rebooting, updated, verifying } from './targets.ts'
import { keysOf } from '../../../src/platform/records.ts'

/** The commands to a device that downloads separately from its reboot. */
export const commands = ['stage', 'activate'] as const
const moving: DownloadNow = { bytesServed: 9, touchedMs: ms(60), delivered: false, fenced: false }
const delivered: DownloadNow = { ...moving, delivered: true }

/** A target in each state, as it usually is. Their devices have been commanded a minute ago. */
export const targets: Readonly<Record<TargetState, TargetNow>> = {
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
  rolling_back: {
    ...rebooting,
    state: 'rolling_back',
    device: { ...offline, firmware: '2.0', commands: ['restart', 'upgrade', 'restore_backup'] },
    command: command('sent', { kind: 'restore_backup' }),
  },
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

export const answered =
  (state: CommandNow['state'], more: Partial<CommandNow> = {}) =>
  ({ command: last }: TargetNow): Partial<TargetNow> => ({
    command: last && { ...command(state, { kind: last.kind }), ...more },
  })

const back =
  (firmware: string) =>
  ({ device }: TargetNow): Partial<TargetNow> => ({
    device: { ...updated, firmware, commands: device?.commands ?? [] },
  })

const lose = ({ device }: TargetNow): Partial<TargetNow> => ({
  device: { ...offline, firmware: device?.firmware ?? null, commands: device?.commands ?? [] },
})

/** The events of a target. */
export const events = {
  nothing: {},
  connected: { facts: ({ device }) => ({ device: { ...online, commands: device?.commands ?? [] } }) },
  offline: { facts: () => ({ device: offline }) },
  'on the version': { facts: back('2.0'), seconds: 110 },
  'on the version for the soak': { facts: back('2.0'), seconds: 220 },
  'back on the old version': { facts: back('1.0'), seconds: 110 },
  'on the old version for the soak': { facts: back('1.0'), seconds: 220 },
  'lost for good on the old version': {
    facts: ({ device }) => ({ device: { ...offline, firmware: '1.0', commands: device?.commands ?? [] } }),
    seconds: 100 * 3600,
  },
  'a byte is downloaded': { facts: () => ({ download: moving }) },
  'all is downloaded': { facts: () => ({ download: delivered }) },
  'command done': { facts: answered('done') },
  'command refused': { facts: answered('rejected', { refusal: 'full' }) },
  'command refused, server crowded': { facts: answered('rejected', { refusal: 'full' }), rules: { crowdedMs: ms(30) } },
  'command refused after a byte, server crowded': {
    facts: (target) => ({ ...answered('rejected', { refusal: 'full' })(target), download: moving }),
    rules: { crowdedMs: ms(30) },
  },
  'content refused': { facts: answered('rejected', { refusal: 'bad', refusalIsFinal: true }) },
  'connection lost, image there': {
    facts: (target) => ({ ...answered('unknown', { loss: 'connection_lost' })(target), download: delivered }),
  },
  'connection lost, image there, device idle': {
    facts: (target) => ({
      ...answered('unknown', { loss: 'gateway_lost', isIdle: true })(target),
      device: target.device && { ...online, commands: target.device.commands },
      download: delivered,
    }),
  },
  'connection lost, back on the version': {
    facts: (target) => ({ ...answered('unknown', { loss: 'connection_lost' })(target), ...back('2.0')(target) }),
    seconds: 110,
  },
  'upgrade stops': { rules: { stopping: true } },
  'upgrade is held': { rules: { held: true } },
  'it is lost for good': { facts: lose, seconds: 100 * 3600 },
  'it is lost for good, restores are wanted': { facts: lose, seconds: 100 * 3600, rules: { rollback: true } },
  'the window is closed': { rules: { beginMs: () => ms(7200) } },
  'its download has no turn': { rules: { mayDownload: false } },
  'its reboot has no turn': { rules: { rebootMs: Infinity } },
  'device removed': { facts: () => ({ device: null }) },
  'everything times out': { seconds: 100 * 3600, rules: { offlineDeadlineMs: ms(72 * 3600) } },
} as const satisfies Record<string, TargetEvent>

export type EventName = keyof typeof events

export const eventNames = keysOf(events)

/** The usual result of an event, and the events with other results. */
export type Row = readonly [usually: string, except: Partial<Readonly<Record<EventName, string>>>]

export function show(decision: TargetDecision): string {
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

/** Decides about the target after each of the events, under these rules. */
export function rowOf(target: TargetNow, rules: Partial<TargetRules> = {}): Readonly<Record<EventName, string>> {
  const decided = eventNames.map((name) => {
    const { facts, seconds = 61, rules: ofEvent }: TargetEvent = events[name]
    return [name, show(decide({ ...target, ...facts?.(target) }, seconds, { ...rules, ...ofEvent }))]
  })
  return Object.fromEntries(decided) as Record<EventName, string> // fromEntries loses the type.
}

/** Returns the whole row. */
export function expand([usually, except]: Row): Readonly<Record<string, string>> {
  return { ...Object.fromEntries(eventNames.map((name) => [name, usually])), ...except }
}
