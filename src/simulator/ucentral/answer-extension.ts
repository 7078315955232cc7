import type { ExtensionMethod } from '../../gateway/ucentral/extension-messages.ts'
import { type GatewayCall, isGatewayCall } from '../../gateway/ucentral/messages.ts'
import { accept, refuse } from './answers.ts'
import { beginInstall, installEffects } from './install.ts'
import { type DeviceInput, type DeviceState, type Effect, type Profile, type Step, goDown } from './device.ts'

type Call = Extract<DeviceInput, { on: 'call' }>
type Answer = (profile: Profile, state: DeviceState, call: Call) => Step

/** The device's handling of the calls that it offers beyond stock uCentral. */
export const extensionAnswers: Readonly<Record<ExtensionMethod, Answer>> = {
  reboot: rebootPart,
  stage,
  activate,
  restore_backup: restoreBackup,
  snapshot: takeSnapshot,
}

/** Only a device whose parts can be restarted individually offers this. */
export function offeredMethods({ methods, members, cluster }: Profile): ExtensionMethod[] {
  return [...(members.length > 0 || cluster ? (['reboot'] as const) : []), ...methods]
}

/** Returns why the device does nothing at the moment; null when it is idle and willing. */
function refusalOf({ faults }: Profile, { activity }: DeviceState): string | null {
  if (faults.has('refuse')) return 'Refused'
  return activity.kind === 'idle' ? null : 'Device is busy'
}

function rebootPart(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('x-signalbox.reboot', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  if (profile.faults.has('refuse')) return refuse(state, call, 1, 'Reboot refused')
  if (state.activity.kind !== 'idle') return refuse(state, call, 1, 'Device is busy')
  const { member, node } = call.params
  if ((member === undefined) === (node === undefined)) return refuse(state, call, 1, 'Invalid parameters')
  if (node !== undefined && !profile.cluster) return refuse(state, call, 1, `No ${node}`)
  if (member !== undefined && !profile.members.some((known) => known.member === member)) {
    return refuse(state, call, 1, `No member ${member}`)
  }
  const counts = { ...state.counts, partBoots: state.counts.partBoots + 1 }
  const effects: readonly Effect[] = [accept(call, 'Rebooting'), { do: 'record', change: 'part_boot' }]
  // When the part with the connection restarts, the others take over the connection.
  const takeover: readonly Effect[] = holdsConnection(profile, call.params) ? [{ do: 'drop', afterMs: 0 }] : []
  return { state: { ...state, counts }, effects: [...effects, ...takeover] }
}

function holdsConnection(profile: Profile, part: GatewayCall<'x-signalbox.reboot'>): boolean {
  if (part.node !== undefined) return part.node === 'node0'
  return part.member === Math.min(...profile.members.map((known) => known.member))
}

/** An image that the device already has is not downloaded again. */
function stage(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('x-signalbox.stage', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  const refusal = refusalOf(profile, state)
  if (refusal !== null) return refuse(state, call, 1, refusal)
  const { uri, sha256, 'use-local-certificates': local } = call.params
  if (state.staged?.sha256 === sha256) return { state, effects: [accept(call, 'Staged before')] }
  const trust = local === true ? 'gateway_ca' : 'public_cas'
  const activity = { kind: 'downloading', callId: call.id, percent: 0, stages: sha256 } as const
  return { state: { ...state, activity }, effects: [{ do: 'download', uri, trust }] }
}

function activate(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('x-signalbox.activate', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  const refusal = refusalOf(profile, state)
  if (refusal !== null) return refuse(state, call, 1, refusal)
  const { staged, ...rest } = state
  if (staged?.sha256 !== call.params.sha256) return refuse(state, call, 2, 'No such image is staged')
  const installing = beginInstall(profile, rest, { version: staged.version })
  return { state: installing, effects: [accept(call, 'Installing'), ...installEffects(profile)] }
}

function restoreBackup(profile: Profile, state: DeviceState, call: Call): Step {
  if (!isGatewayCall('x-signalbox.restore_backup', call.params)) return refuse(state, call, 1, 'Invalid parameters')
  const refusal = refusalOf(profile, state)
  if (refusal !== null) return refuse(state, call, 1, refusal)
  if (profile.faults.has('lose_restore') && state.restoreLost !== true)
    return { state: { ...state, restoreLost: true }, effects: [{ do: 'drop', afterMs: 0 }] }
  const { firmware, backup } = state
  if (backup === undefined || (call.params.version ?? backup) !== backup)
    return refuse(state, call, 2, 'No such backup version')
  const { upgraded: _, ...rest } = state
  const down = profile.faults.has('lose_power')
    ? goDown(profile, state, 'coldboot')
    : goDown(profile, { ...rest, firmware: backup, backup: firmware }, 'upgrade')
  return { state: down.state, effects: [accept(call, `Returning to ${backup}`), ...down.effects] }
}

function takeSnapshot(profile: Profile, state: DeviceState, call: Call): Step {
  const refusal = refusalOf(profile, state)
  return refusal === null ? { state, effects: [accept(call, 'Snapshot taken')] } : refuse(state, call, 1, refusal)
}
