import { decideTarget } from '../../../src/rollout/targets/steps/decide-target.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import type { SiteUpgradeNow } from '../../../src/rollout/site-upgrade-now.ts'
import type { CommandNow, DeviceNow, TargetNow, TargetRules } from '../../../src/rollout/targets/target.ts'

export const start = new Date('2026-03-01T00:00:00Z')
export const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1000)
/** Milliseconds of service time. */
export const ms = (seconds: number): number => 1e9 + seconds * 1000
export const MINUTE = 60

export const online: DeviceNow = {
  type: 'ap',
  link: 'connected',
  connectedMs: ms(0),
  disconnectedMs: null,
  firmware: '1.0',
  bootCount: 3,
  bootedAt: start,
  isBootKnown: true,
  memberFirmware: [],
  commands: ['restart', 'upgrade'],
  repeatable: [],
  backupVersion: null,
}
export const offline: DeviceNow = { ...online, link: 'absent', connectedMs: null }
export const expected: DeviceNow = { ...offline, link: 'expected' }
export const updated: DeviceNow = { ...online, firmware: '2.0', bootCount: 4, bootedAt: at(100), connectedMs: ms(100) }

export const planned: TargetNow = {
  deviceId: 'd',
  phase: 1,
  downloadPhase: null,
  rank: null,
  state: 'planned',
  enteredMs: ms(0),
  fromVersion: '1.0',
  targetVersion: '2.0',
  reported: [],
  imageId: 'i',
  path: null,
  force: false,
  attempt: 0,
  failedAttempts: 0,
  lostAttempts: 0,
  retryAtMs: null,
  fetched: false,
  staged: false,
  bootCount: null,
  device: online,
  command: null,
  download: null,
}

/** A site upgrade in its first phase, in which nothing has happened yet. */
export const running: Omit<SiteUpgradeNow, 'plan' | 'counts' | 'targets'> = {
  status: 'upgrading',
  stopping: null,
  stopReason: null,
  hold: null,
  gatePassed: 0,
  startAt: at(0),
  rebootAt: at(0),
  currentPhase: 1,
  phaseOpenedMs: ms(0),
  graceUntilMs: null,
  released: 0,
  hardFailures: {},
  upgradedByPhase: {},
  downloads: null,
  isDue: true,
}

export function command(state: CommandNow['state'], more: Partial<CommandNow> = {}): CommandNow {
  return {
    id: 'c',
    kind: 'upgrade',
    state,
    refusal: null,
    refusalIsFinal: false,
    refusalIsBusy: false,
    loss: null,
    isIdle: false,
    lost: null,
    mayReboot: false,
    sentAt: state === 'queued' ? null : at(1),
    ...more,
  }
}

export function commanded(state: CommandNow['state'], more: Partial<TargetNow> = {}): TargetNow {
  return { ...planned, state: 'dl_requested', attempt: 1, bootCount: 3, command: command(state), ...more }
}

/** It downloads and reboots in two steps. */
export const staging: DeviceNow = { ...online, commands: ['restart', 'stage', 'activate'] }

/** A target in two steps, whose latest command is of this kind. */
export function ordered(
  kind: 'stage' | 'activate',
  state: CommandNow['state'],
  more: Partial<CommandNow> = {},
): TargetNow {
  const target = { ...planned, bootCount: 3, device: staging, command: command(state, { kind, ...more }) }
  if (kind === 'activate') return { ...target, state: 'reboot_requested', staged: true, attempt: 2 }
  return { ...target, state: 'dl_requested', attempt: 1 }
}

/** It has the image and waits for its reboot. */
export const downloaded: TargetNow = { ...ordered('stage', 'done'), state: 'downloaded', staged: true }

export const rebooting: TargetNow = { ...commanded('done'), state: 'rebooting', enteredMs: ms(60) }
export const verifying: TargetNow = { ...rebooting, state: 'verifying', enteredMs: ms(100), device: updated }

export function decide(target: TargetNow, seconds = 61, rules: Partial<TargetRules> = {}) {
  return decideTarget(target, {
    now: at(seconds),
    nowMs: ms(seconds),
    options: defaultRolloutOptions,
    only: null,
    snapshot: false,
    rollback: false,
    rebootMs: 0,
    beginMs: () => 0,
    openedMs: null,
    mayDownload: true,
    stopping: false,
    held: false,
    offlineDeadlineMs: null,
    graceUntilMs: 0,
    crowdedMs: null,
    ...rules,
  })
}
export const move = (to: string, reason?: string) => ({ kind: 'move', to, ...(reason !== undefined && { reason }) })
