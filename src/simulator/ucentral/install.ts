import type { Activity, DeviceState, Effect, Profile } from './device.ts'

export type Installing = Extract<Activity, { kind: 'installing' }>

export function beginInstall(
  profile: Profile,
  state: DeviceState,
  { version, wipes }: Pick<Installing, 'version' | 'wipes'>,
): DeviceState {
  const activity: Installing = { kind: 'installing', version, remainingMs: profile.timing.flashMs }
  return { ...state, activity: { ...activity, ...(wipes && { wipes }) } }
}

export function installEffects(profile: Profile): readonly Effect[] {
  return [
    { do: 'record', change: 'install' },
    { do: 'wait', ms: installWaitMs(profile, profile.timing.flashMs) },
  ]
}

/** A switch reports progress while it installs; an access point sends nothing until it is back. */
export function installWaitMs({ type, timing }: Profile, remainingMs: number): number {
  return type === 'switch' ? Math.min(timing.statusMs, remainingMs) : remainingMs
}
