import type { CommandKind, DeviceCapabilities } from '../tables.ts'
import type { CommandOrder, RestartParams } from './command.ts'

/** The capabilities of a device that has never connected. */
export const noCapabilities: DeviceCapabilities = { commands: [], restart_members: [], restart_nodes: [] }

const refusals: Readonly<Record<CommandKind, string>> = {
  restart: "The device can't be restarted",
  upgrade: "The device can't download and install firmware in one step",
  stage: "The device can't download firmware ahead of its installation",
  activate: "The device can't install firmware that it has downloaded before",
  locate: 'The device has no LEDs that can blink',
  unlocate: 'The device has no LEDs that can blink',
  // Clients compare this text. Source: contract notes, 11.
  restore_backup: 'restore-backup-fw-version not supported',
  snapshot: "The device can't take a recovery snapshot",
  ping: "The device can't send pings for somebody",
  support: "The device can't collect support files",
}

/**
 * Decides whether a device can execute a command. This must happen before anything is sent, because some devices answer
 * an unknown call with success and others never answer it.
 *
 * @returns The reason why it can't, for the person who requested it; null if it can.
 */
export function findRefusal(capabilities: DeviceCapabilities, order: CommandOrder): string | null {
  const { commands, refusals: own } = capabilities
  if (!commands.includes(order.kind)) return own?.[order.kind] ?? refusals[order.kind]
  return order.kind === 'restart' ? findPartRefusal(capabilities, order.params) : null
}

/**
 * Returns the device's own reason why firmware can't be upgraded, in one step or in two; null if it can, and if the
 * device has not reported it.
 */
export function findUpgradeRefusal({ commands, refusals: own }: DeviceCapabilities): string | null {
  if (commands.includes('upgrade') || (commands.includes('stage') && commands.includes('activate'))) return null
  return own?.upgrade ?? null
}

function findPartRefusal(capabilities: DeviceCapabilities, { member, node }: RestartParams): string | null {
  const { restart_members: members, restart_nodes: nodes } = capabilities
  if (member !== undefined && node !== undefined) return 'Either a member or a node can be restarted, not both'
  if (node !== undefined) {
    if (nodes.includes(node)) return null
    return `The device can't restart node ${node} alone${nodes.length === 0 ? '' : `, only ${nodes.join(', ')}`}`
  }
  if (member === undefined || members === 'any' || members.includes(member)) return null
  if (members.length === 0) return `The device can't restart member ${member} alone`
  return `The device has no member ${member}; its members are ${members.join(', ')}`
}
