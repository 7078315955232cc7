import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEdgeRole } from '../../../src/agent/edge-role.ts'
import { hookAppliance } from '../../../src/agent/hooks/hooks.ts'
import type { CommandLine } from '../../../src/agent/hooks/run-hook.ts'
import type { Role, RoleParts } from '../../../src/agent/role.ts'
import { hookRouter } from '../../../src/agent/router/router-hooks.ts'
import { createRouterRole } from '../../../src/agent/router/router-role.ts'

export interface MachinePlace {
  readonly role: 'edge' | 'ssr'
  /** The folder that machine.sh takes for the machine. */
  readonly machine: string
  /** The path of machine.sh. */
  readonly script: string
  /** That of a router. */
  readonly mac: string
}

/** Returns the boot id of the machine. */
export function bootOf({ machine }: Pick<MachinePlace, 'machine'>): string {
  return readFileSync(join(machine, 'boot'), 'utf8')
}

/** The role of an agent whose hooks are the commands of machine.sh. */
export async function roleOfMachine(place: MachinePlace, parts: RoleParts): Promise<Role> {
  return place.role === 'edge' ? edgeRole(place, parts) : routerRole(place, parts)
}

function hooksOf({ machine, script }: MachinePlace) {
  return {
    hook: (subject: string, what: string): CommandLine => [script, machine, subject, what],
    prints: (file: string): CommandLine => ['cat', join(machine, file)],
  }
}

async function edgeRole(place: MachinePlace, parts: RoleParts): Promise<Role> {
  const { hook, prints } = hooksOf(place)
  const control = hook('tunterm', 'restart')
  const tunterm = {
    version: prints('version'),
    status: ['true'] as const,
    start: control,
    stop: control,
    restart: control,
  }
  const hooks = {
    services: { tunterm: { ...tunterm, install: hook('packages', 'install') } },
    port_down: hook('port', 'down'),
    port_up: hook('port', 'up'),
    disconnect_aps: hook('access points', 'disconnect'),
    configure: hook('configuration', 'configure'),
    distro_upgrade: hook('packages', 'distro'),
    support: hook('support', 'support'),
  } as const
  const distro = async () => readFileSync(join(place.machine, 'distro'), 'utf8')
  return createEdgeRole(parts, { ...hookAppliance(hooks, parts), distro })
}

async function routerRole(place: MachinePlace, parts: RoleParts): Promise<Role> {
  const { hook, prints } = hooksOf(place)
  const hooks = {
    version: prints('version'),
    install: hook('packages', 'install'),
    reboot: hook('reboot', 'reboot'),
    reboot_node: hook('reboot', 'node'),
    support: hook('support', 'support'),
    nodes: ['node0', 'node1'],
  } as const
  const router = { ...hookRouter(hooks, parts), bootId: async () => bootOf(place) }
  return createRouterRole(parts, router, { mac: place.mac, model: 'SSR120', serial: `S${place.mac}` })
}
