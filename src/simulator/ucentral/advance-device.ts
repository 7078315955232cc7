import { answerCall, takeUpgrade } from './answer-call.ts'
import {
  type Activity,
  type DeviceInput,
  type DeviceState,
  type DownloadedImage,
  type Effect,
  finishBoot,
  goDown,
  isOnline,
  type Profile,
  type Step,
  suffersFrom,
} from './device.ts'
import { type Installing, beginInstall, installEffects, installWaitMs } from './install.ts'
import { endUpload } from '../run-script.ts'
import { bootEventParams, upgradeEventParams } from './telemetry.ts'

/** An input and its time (epoch milliseconds). */
export interface TimedInput {
  readonly input: DeviceInput
  readonly nowMs: number
}

/** Implements the behavior of a simulated device. Inputs that no longer fit its activity change nothing. */
export function advanceDevice(profile: Profile, state: DeviceState, { input, nowMs }: TimedInput): Step {
  switch (input.on) {
    case 'call':
      // A device that is down receives nothing: the call was still on its way.
      return isOnline(profile, state) ? answerCall(profile, state, { call: input, nowMs }) : { state, effects: [] }
    case 'progress':
      return { state: withProgress(state, input.percent), effects: [] }
    case 'downloaded':
      return takeImage(profile, state, { image: input.image, nowMs })
    case 'download_failed':
      return failUpgrade(profile, state, { text: `Download failed, ${input.text}`, nowMs })
    case 'elapsed':
      return elapse(profile, state, nowMs)
    case 'connected':
      return isOnline(profile, state) ? settle(profile, state) : { state, effects: [] }
    case 'uploaded':
      return endUpload(profile, state, input)
    case 'client_restarted':
      return { state: restartClient(state), effects: [{ do: 'report', everyMs: null }] }
  }
}

/** Upgrades continue, because they run in separate processes. */
function restartClient(state: DeviceState): DeviceState {
  const { telemetryS: _, ...rest } = state
  return { ...rest, connectReason: 'recovery' }
}

function withProgress(state: DeviceState, percent: number): DeviceState {
  if (state.activity.kind !== 'downloading') return state
  return { ...state, activity: { ...state.activity, percent } }
}

function takeImage(
  profile: Profile,
  state: DeviceState,
  { image, nowMs }: { readonly image: DownloadedImage; readonly nowMs: number },
): Step {
  if (state.activity.kind !== 'downloading') return { state, effects: [] }
  const counts = { ...state.counts, downloads: state.counts.downloads + 1 }
  const received = { ...state, counts }
  const recorded: Effect = { do: 'record', change: 'download' }
  if (image.models !== null && !image.models.includes(profile.model)) {
    const failed = failUpgrade(profile, received, { text: 'Firmware image validation failed', nowMs })
    return { state: failed.state, effects: [recorded, ...failed.effects] }
  }
  const { version } = image
  if (state.activity.stages !== undefined)
    return endStage(profile, received, { activity: state.activity, image, recorded, nowMs })
  if (profile.type === 'ap') {
    const { callId, wipes } = state.activity
    const activity: Activity = { kind: 'triggering', callId, version, ...(wipes && { wipes }) }
    return { state: { ...received, activity }, effects: [recorded, { do: 'wait', ms: profile.timing.triggerMs }] }
  }
  const installing = beginInstall(profile, received, { version })
  const status: Effect = notifyUpgrade(profile, nowMs, { operation: 'install', percentage: 0 })
  return { state: installing, effects: [recorded, ...installEffects(profile), status] }
}

interface StagedDownload {
  readonly activity: Extract<Activity, { kind: 'downloading' }>
  readonly image: DownloadedImage
  readonly recorded: Effect
  readonly nowMs: number
}

/** The image is stored for its activation if it is the expected one. */
function endStage(profile: Profile, state: DeviceState, { activity, image, recorded, nowMs }: StagedDownload): Step {
  const { sha256, version } = image
  if (sha256 !== activity.stages) {
    const failed = failUpgrade(profile, state, { text: 'Firmware image validation failed', nowMs })
    return { state: failed.state, effects: [recorded, ...failed.effects] }
  }
  const reply: Effect = { do: 'reply', id: activity.callId, error: 0, text: 'Staged' }
  return { state: { ...state, activity: { kind: 'idle' }, staged: { sha256, version } }, effects: [recorded, reply] }
}

/** An access point answers the call, as for a stage does each device; a switch answered it earlier and sends an event. */
function failUpgrade(
  profile: Profile,
  state: DeviceState,
  { text, nowMs }: { readonly text: string; readonly nowMs: number },
): Step {
  if (state.activity.kind !== 'downloading') return { state, effects: [] }
  const { callId, stages } = state.activity
  const idle: DeviceState = { ...state, activity: { kind: 'idle' } }
  if (profile.type === 'switch' && stages === undefined)
    return { state: idle, effects: [notifyUpgrade(profile, nowMs, { operation: 'fail' })] }
  const reply: Effect = { do: 'reply', id: callId, error: 2, text }
  const { queue: [next, ...queue] = [], ...rest } = idle
  if (next === undefined) return { state: idle, effects: [reply] }
  const begun = takeUpgrade(rest, next)
  return { state: queue.length > 0 ? { ...begun.state, queue } : begun.state, effects: [reply, ...begun.effects] }
}

function elapse(profile: Profile, state: DeviceState, nowMs: number): Step {
  const { activity } = state
  switch (activity.kind) {
    case 'idle':
    case 'lost':
      return { state, effects: [] }
    case 'downloading':
      return reportDownload(profile, state, { percent: activity.percent, nowMs })
    case 'triggering': {
      const reply: Effect = { do: 'reply', id: activity.callId, error: 0, text: 'Triggering FW upgrade' }
      return { state: beginInstall(profile, state, activity), effects: [reply, ...installEffects(profile)] }
    }
    case 'installing':
      return continueInstall(profile, state, { activity, nowMs })
    case 'restarting':
      return goDown(profile, state, 'reboot')
    case 'booting':
      return finishBoot(profile, state, nowMs)
  }
}

function reportDownload(
  profile: Profile,
  state: DeviceState,
  { percent, nowMs }: { readonly percent: number; readonly nowMs: number },
): Step {
  if (profile.type === 'ap') return { state, effects: [] }
  const status = notifyUpgrade(profile, nowMs, { operation: 'download', percentage: percent })
  return { state, effects: [status, { do: 'wait', ms: profile.timing.statusMs }] }
}

function continueInstall(
  profile: Profile,
  state: DeviceState,
  { activity, nowMs }: { readonly activity: Installing; readonly nowMs: number },
): Step {
  const { flashMs } = profile.timing
  const remainingMs = activity.remainingMs - installWaitMs(profile, activity.remainingMs)
  if (remainingMs <= 0) return finishInstall(profile, state, { activity, nowMs })
  const percentage = Math.floor((100 * (flashMs - remainingMs)) / flashMs)
  return {
    state: { ...state, activity: { ...activity, remainingMs } },
    effects: [
      notifyUpgrade(profile, nowMs, { operation: 'install', percentage }),
      { do: 'wait', ms: installWaitMs(profile, remainingMs) },
    ],
  }
}

function finishInstall(
  profile: Profile,
  state: DeviceState,
  { activity, nowMs }: { readonly activity: Installing; readonly nowMs: number },
): Step {
  const keepsOld = profile.faults.has('old_version')
  const orphaned = activity.wipes === true && !keepsOld
  const flashed: DeviceState = {
    ...state,
    ...(orphaned && { orphaned }),
    ...(!keepsOld && { firmware: activity.version, backup: state.firmware, upgraded: true }),
    counts: { ...state.counts, flashes: state.counts.flashes + 1 },
  }
  const success: readonly Effect[] =
    profile.type === 'switch' ? [notifyUpgrade(profile, nowMs, { operation: 'success', percentage: 100 })] : []
  const down = goDown(profile, flashed, keepsOld ? 'upgradefailed' : 'upgrade')
  const changes = orphaned ? (['flash', 'orphaned'] as const) : (['flash'] as const)
  const records = changes.map((change): Effect => ({ do: 'record', change }))
  return { state: down.state, effects: [...success, ...records, ...down.effects] }
}

/** Called once connected: the next connection follows a broken socket, not a boot. */
function settle(profile: Profile, state: DeviceState): Step {
  const { untoldBoot, ...rest } = state
  const settled: DeviceState = { ...rest, connectReason: 'socket' }
  const told: readonly Effect[] =
    profile.type === 'switch' && untoldBoot !== undefined
      ? [{ do: 'notify', method: 'event', params: bootEventParams(profile, state.bootedAtMs, untoldBoot) }]
      : []
  const drops = state.flapsLeft > 0 || suffersFrom(profile, state, 'unstable')
  if (!drops) return { state: settled, effects: told }
  return {
    state: { ...settled, flapsLeft: Math.max(0, state.flapsLeft - 1) },
    effects: [...told, { do: 'drop', afterMs: profile.timing.flapMs }],
  }
}

function notifyUpgrade(profile: Profile, nowMs: number, payload: Parameters<typeof upgradeEventParams>[2]): Effect {
  return { do: 'notify', method: 'event', params: upgradeEventParams(profile, nowMs, payload) }
}
