import type { DeviceType } from '../device.ts'
import type { RestartParams } from './command.ts'

/**
 * Whether a device can do a restart, decided before anything is queued: stock devices answer an
 * unknown method with success or not at all.
 *
 * @param capabilities As in `device_status.capabilities`; empty for a device that never connected.
 * @returns Why it can't, for the person who asked, or null when it can.
 */
export function supportsRestart(capabilities: Readonly<Record<string, unknown>>, params: RestartParams): string | null {
  const { member, node } = params
  if (member === undefined && node === undefined) return null
  if (member !== undefined && node !== undefined) return 'either a member or a node can be restarted, not both'
  const part = member === undefined ? `node ${node}` : `member ${member}`
  if (!extensionMethods(capabilities).includes('reboot')) return `the device can not restart ${part} alone`
  if (member === undefined) return null
  const members = extensionMembers(capabilities)
  return members === null || members.includes(member) ? null : `the device has no member ${member}`
}

/**
 * Whether a device can be asked to blink. Of the stock clients that of access points has LEDs; that of
 * switches calls the unknown method a success and does nothing.
 *
 * @returns As supportsRestart().
 */
export function supportsLocate(type: DeviceType): string | null {
  return type === 'ap' ? null : 'only access points can blink their LEDs'
}

function extension(capabilities: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const value = capabilities['x-signalbox']
  return isObject(value) ? value : {}
}

function extensionMethods(capabilities: Readonly<Record<string, unknown>>): readonly unknown[] {
  const { methods } = extension(capabilities)
  return Array.isArray(methods) ? methods : []
}

/** Null when the device does not list its members. */
function extensionMembers(capabilities: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  const { members } = extension(capabilities)
  return Array.isArray(members) ? members.map((item: unknown) => (isObject(item) ? item['member'] : undefined)) : null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
