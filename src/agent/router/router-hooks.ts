import { uptime } from 'node:os'
import { hookLimitsMs } from '../../mxedges/commands/time-limits.ts'
import { collectSupport } from '../hooks/collect.ts'
import { readMachineFacts } from '../machine/facts.ts'
import { NotExecuted } from '../appliance.ts'
import type { HookParts } from '../role.ts'
import type { Router, RouterNode } from './router.ts'
import { assertMembers, readHooksFile } from '../hooks/hooks-file.ts'
import { createLastingHooks } from '../hooks/lasting-hook.ts'
import { type CommandLine, assertCommandLine, runHook } from '../hooks/run-hook.ts'

/** The operator's configuration for a router. */
export interface RouterHooks {
  /** Prints the version of the firmware that runs. */
  readonly version: CommandLine
  /** Gets the path of an image and its version as its last arguments. */
  readonly install?: CommandLine
  /** Reboots the whole router. */
  readonly reboot?: CommandLine
  /** Gets node0 or node1 as its last argument. */
  readonly reboot_node?: CommandLine
  /** Prints an archive. */
  readonly support?: CommandLine
  /** The nodes of a router with high availability. */
  readonly nodes?: readonly RouterNode[]
}

const optional = ['install', 'reboot', 'reboot_node', 'support'] as const

/** @throws Error that names the member of the file. */
export async function readRouterHooks(path: string): Promise<RouterHooks> {
  const hooks: unknown = await readHooksFile(path)
  assertRouterHooks(hooks, path)
  return hooks
}

function assertRouterHooks(hooks: unknown, path: string): asserts hooks is RouterHooks {
  if (typeof hooks !== 'object' || hooks === null) throw new Error(`${path}: must be an object`)
  const { version, nodes = [], ...others }: Readonly<Record<string, unknown>> = { ...hooks }
  assertMembers(hooks, ['version', ...optional, 'nodes'], `${path}: `)
  assertCommandLine(version, `${path}: version`)
  for (const name of optional) if (others[name] !== undefined) assertCommandLine(others[name], `${path}: ${name}`)
  if (!Array.isArray(nodes) || !nodes.every((node) => node === 'node0' || node === 'node1'))
    throw new Error(`${path}: nodes must be a list of node0 and node1`)
}

/** A router that runs the operator's commands. Its capabilities are those of the configured commands. */
export function hookRouter(hooks: RouterHooks, parts: HookParts): Router {
  const lasting = createLastingHooks(parts)
  const { install, reboot, reboot_node: rebootNode, support, nodes = [] } = hooks
  return {
    methods: [
      ...(reboot === undefined ? [] : (['restart'] as const)),
      ...(reboot === undefined || install === undefined ? [] : (['stage', 'activate'] as const)),
      ...(support === undefined ? [] : (['support'] as const)),
    ],
    nodes: rebootNode === undefined ? [] : nodes,
    bootId: async () => (await readMachineFacts()).boot_id,
    uptimeS: async () => uptime(),
    async version() {
      const { code, printed } = await runHook(hooks.version)
      const version = printed.trim()
      if (code !== 0 || version === '') throw new Error(`${hooks.version[0]} ended with ${code} and printed no version`)
      return version
    },
    async install({ path, version }) {
      const hook = { subject: 'packages', timeoutMs: hookLimitsMs.installFirmware } as const
      await lasting.run(hook, [...need(install, 'install'), path, version])
    },
    awaitReboot: () => lasting.awaitEarlier('reboot'),
    async reboot(node, commandId) {
      const hook = { subject: 'reboot' } as const
      if (node === null) return lasting.run(hook, need(reboot, 'reboot'))
      await lasting.runOnce(commandId, hook, [...need(rebootNode, 'reboot_node'), node])
    },
    async collectSupport(path) {
      await collectSupport(lasting, need(support, 'support'), path)
    },
  }
}

function need(commandLine: CommandLine | undefined, name: string): CommandLine {
  if (commandLine === undefined) throw new NotExecuted(`No ${name} is configured on the router`)
  return commandLine
}
