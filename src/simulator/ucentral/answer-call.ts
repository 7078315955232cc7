import { type GatewayCall, isGatewayCall } from '../../gateway/ucentral/messages.ts'
import { extensionAnswers, offeredMethods } from './answer-extension.ts'
import { accept, refuse } from './answers.ts'
import {
  type Activity,
  type DeviceInput,
  type DeviceState,
  type Effect,
  goDown,
  type Profile,
  type Step,
  type UpgradeOrder,
} from './device.ts'
import { runScript } from '../run-script.ts'
import { healthcheckParams, stateParams, upgradeEventParams } from './telemetry.ts'

type Call = Extract<DeviceInput, { on: 'call' }>
type Answer = (profile: Profile, state: DeviceState, context: { readonly call: Call; readonly nowMs: number }) => Step

/** How the firmware handles each method. Source: wlan-cloud-ucentralgw PROTOCOL.md, and real clients on the wire. */
const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['reboot', (profile, state, { call }) => reboot(profile, state, call)],
  ['upgrade', (profile, state, { call, nowMs }) => upgrade(profile, state, { call, nowMs })],
  ['leds', (profile, state, { call }) => leds(profile, state, call)],
  ['script', (profile, state, { call }) => runScript(profile, state, call)],
  ['telemetry', (profile, state, { call }) => telemetry(profile, state, call)],
  ['request', request],
  ['ping', (_profile, state, { call }) => ({ state, effects: [accept(call, '')] })],
])

/**
 * Drops calls for another device. An access point also drops unknown methods, while a switch answers them with success.
 */
export const answerCall: Answer = (profile, state, context) => {
  const { call } = context
  if (call.params['serial'] !== profile.mac) return { state, effects: [] }
  const answer = answers.get(call.method)
  if (answer !== undefined) return answer(profile, state, context)
  const [, method] = /^x-signalbox\.(.+)$/.exec(call.method) ?? []
  const offered = offeredMethods(profile).find((name) => name === method)
  if (offered !== undefined) return extensionAnswers[offered](profile, state, call)
  return { state, effects: profile.type === 'ap' ? [] : [accept(call, 'Success')] }
}

function reboot(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('reboot', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  if (profile.faults.has('refuse')) return refuse(state, call, 1, 'Reboot refused')
  const { kind } = state.activity
  if (kind !== 'idle' && kind !== 'downloading') return refuse(state, call, 1, 'Device is busy')
  const aborted: readonly Effect[] = kind === 'downloading' ? [{ do: 'abort_download' }] : []
  const accepted = [...aborted, accept(call, 'Rebooting')]
  if (profile.type === 'ap') {
    const effects: readonly Effect[] = [...accepted, { do: 'wait', ms: profile.timing.goodbyeMs }]
    return { state: { ...state, activity: { kind: 'restarting' } }, effects }
  }
  const down = goDown(profile, state, 'reboot')
  return { state: down.state, effects: [...accepted, ...down.effects] }
}

/** The device puts the address into a shell string, which these characters would end. */
const unsafeUri = /["'$`\\\p{Cc}]/u

const upgrade: Answer = (profile, state, { call, nowMs }) => {
  if (!isGatewayCall('upgrade', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  if (profile.faults.has('refuse')) return refuse(state, call, 2, 'Invalid signature')
  const { uri, keep_redirector: keeps, 'use-local-certificates': local }: GatewayCall<'upgrade'> = call.params
  if (unsafeUri.test(uri)) return refuse(state, call, 2, "Download failed, uri can't be used")
  if (profile.type === 'ap') {
    const wipes = keeps !== true
    const trust = local === true ? 'gateway_ca' : 'public_cas'
    return takeUpgrade(state, { callId: call.id, uri, trust, ...(wipes && { wipes }) })
  }
  if (state.activity.kind !== 'idle') return refuse(state, call, 1, 'Upgrade already in progress')
  const download: Effect = { do: 'download', uri, trust: 'public_cas' }
  return {
    state: { ...state, activity: { kind: 'downloading', callId: call.id, percent: 0 } },
    effects: [
      accept(call, 'upgrade requested successfully'),
      {
        do: 'notify',
        method: 'event',
        params: upgradeEventParams(profile, nowMs, { operation: 'download', percentage: 0 }),
      },
      download,
      { do: 'wait', ms: profile.timing.statusMs },
    ],
  }
}

/** Begins an upgrade of an access point, or queues it behind the current one. */
export function takeUpgrade(state: DeviceState, order: UpgradeOrder): Step {
  if (state.activity.kind !== 'idle')
    return { state: { ...state, queue: [...(state.queue ?? []), order] }, effects: [] }
  const { callId, uri, trust, wipes } = order
  const activity: Activity = { kind: 'downloading', callId, percent: 0, ...(wipes && { wipes }) }
  return { state: { ...state, activity }, effects: [{ do: 'download', uri, trust }] }
}

/** An access point that already reports refuses a second request and continues to report. */
function telemetry(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('telemetry', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  const { interval } = call.params
  const { telemetryS, ...quiet } = state
  if (interval === 0) return { state: quiet, effects: [{ do: 'report', everyMs: null }, accept(call, 'Success')] }
  if (profile.type === 'ap' && telemetryS !== undefined) return refuse(state, call, 2, 'Invalid Arguments')
  const report: Effect = { do: 'report', everyMs: interval * 1000 }
  return { state: { ...state, telemetryS: interval }, effects: [accept(call, 'Success'), report] }
}

/** Without a pattern, an access point's client crashes and restarts. */
function leds(profile: Profile, state: DeviceState, call: Call): Step {
  const known = typeof call.params['pattern'] === 'string'
  if (!known && profile.type === 'ap') return { state, effects: [{ do: 'drop', afterMs: 0 }] }
  return { state, effects: [accept(call, 'Success')] }
}

function request(profile: Profile, state: DeviceState, context: { readonly call: Call; readonly nowMs: number }): Step {
  const { call, nowMs } = context
  if (!isGatewayCall('request', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  const { message, request_uuid: requestUuid } = call.params
  const params = message === 'state' ? stateParams(profile, state, nowMs) : healthcheckParams(profile)
  const asked: Effect = { do: 'notify', method: message, params: { ...params, request_uuid: requestUuid } }
  return { state, effects: [accept(call, 'Success'), asked] }
}
