import { setTimeout as wait } from 'node:timers/promises'
import type { Method } from '../../gateway/edge/messages.ts'
import { hookLimitsMs } from '../../mxedges/commands/time-limits.ts'
import { type Appliance, NotExecuted, type Service, type ServiceAction } from '../appliance.ts'
import { readDistro } from '../machine/facts.ts'
import { collectSupport } from './collect.ts'
import { assertMembers, readHooksFile } from './hooks-file.ts'
import { createLastingHooks } from './lasting-hook.ts'
import { createStatsReader } from './read-stats.ts'
import type { HookParts } from '../role.ts'
import { type CommandLine, assertCommandLine, runHook } from './run-hook.ts'

/** The commands of a service. `version` prints its version; `status` ends with 0 while it runs. */
export type ServiceHooks = Readonly<Record<'version' | 'status' | ServiceAction, CommandLine>> & {
  /** Gets the path of a package and its version as its last arguments. */
  readonly install?: CommandLine
}

/**
 * The operator's configuration. `port_down` and `port_up` get the name of the port as their last argument,
 * `distro_download` and `distro_upgrade` the codename; the other hooks get the params of the command as JSON on their
 * input.
 */
export interface Hooks {
  readonly services: Readonly<Record<string, ServiceHooks>>
  readonly port_down?: CommandLine
  readonly port_up?: CommandLine
  readonly disconnect_aps?: CommandLine
  readonly configure?: CommandLine
  readonly distro_download?: CommandLine
  readonly distro_upgrade?: CommandLine
  /** Prints an archive. */
  readonly support?: CommandLine
  /** Prints JSON: see OwnStats. */
  readonly stats?: CommandLine
}

const serviceHooks = ['version', 'status', 'start', 'stop', 'restart'] as const
const otherHooks = [
  'port_down',
  'port_up',
  'disconnect_aps',
  'configure',
  'distro_download',
  'distro_upgrade',
  'support',
  'stats',
] as const

/** @throws Error that names the member of the file. */
export async function readHooks(path: string): Promise<Hooks> {
  const hooks: unknown = await readHooksFile(path)
  assertHooks(hooks, path)
  return hooks
}

function assertHooks(hooks: unknown, path: string): asserts hooks is Hooks {
  if (!isRecord(hooks) || !isRecord(hooks['services'])) throw new Error(`${path}: services must be an object`)
  for (const [name, service] of Object.entries(hooks['services'])) {
    const commands = isRecord(service) ? service : {}
    const given = commands['install'] === undefined ? serviceHooks : [...serviceHooks, 'install']
    for (const hook of given) assertCommandLine(commands[hook], `${path}: services.${name}.${hook}`)
    assertMembers(commands, [...serviceHooks, 'install'], `${path}: services.${name}.`)
  }
  assertMembers(hooks, ['services', ...otherHooks], `${path}: `)
  for (const hook of otherHooks) if (hooks[hook] !== undefined) assertCommandLine(hooks[hook], `${path}: ${hook}`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An appliance that runs the operator's commands. */
export function hookAppliance(hooks: Hooks, parts: HookParts): Appliance {
  const lasting = createLastingHooks(parts)
  const readOwnStats = createStatsReader(hooks.stats, parts.log)
  const names = Object.keys(hooks.services)
  return {
    methods: methodsOf(hooks),
    services: () => Promise.all(names.map((name) => readService(name, hooks))),
    ownStats: () => readOwnStats(),
    async control(name, action) {
      const service = Object.hasOwn(hooks.services, name) ? hooks.services[name] : undefined
      if (service === undefined) throw new NotExecuted(`There is no service ${name}`)
      await lasting.run({ subject: `service ${name}` }, service[action])
    },
    async bouncePorts(ports, holdMs) {
      const [down, up] = [need(hooks, 'port_down'), need(hooks, 'port_up')]
      const downs = await Promise.allSettled(
        ports.map((port) => lasting.run({ subject: `port ${port}` }, [...down, port])),
      )
      await wait(holdMs)
      // A port that fails must not prevent the others from coming up again.
      const ups = await Promise.allSettled(ports.map((port) => lasting.run({ subject: `port ${port}` }, [...up, port])))
      for (const result of [...downs, ...ups]) if (result.status === 'rejected') throw result.reason
    },
    async disconnectAps(macs) {
      await lasting.run({ subject: 'access points', input: { macs } }, need(hooks, 'disconnect_aps'))
    },
    async install(name, { path, version }) {
      const install = Object.hasOwn(hooks.services, name) ? hooks.services[name]?.install : undefined
      if (install === undefined) throw new NotExecuted(`No install is configured for the service ${name}`)
      const hook = { subject: 'packages', timeoutMs: hookLimitsMs.installPackage } as const
      await lasting.run(hook, [...install, path, version])
    },
    awaitEarlier: () => lasting.awaitEarlier('packages'),
    distro: readDistro,
    async downloadDistro(codename) {
      const hook = { subject: 'packages', timeoutMs: hookLimitsMs.downloadDistro } as const
      await lasting.run(hook, [...need(hooks, 'distro_download'), codename])
    },
    async upgradeDistro(codename) {
      const hook = { subject: 'packages', timeoutMs: hookLimitsMs.upgradeDistro } as const
      await lasting.run(hook, [...need(hooks, 'distro_upgrade'), codename])
    },
    async collectSupport(path) {
      await collectSupport(lasting, need(hooks, 'support'), path)
    },
    async configure(configuration) {
      if (hooks.configure !== undefined)
        await lasting.run({ subject: 'configuration', input: configuration }, hooks.configure)
    },
  }
}

function methodsOf(hooks: Hooks): Method[] {
  const { services, port_down, port_up, disconnect_aps, distro_download, distro_upgrade, support } = hooks
  return [
    ...(Object.keys(services).length > 0 ? (['service.control'] as const) : []),
    ...(port_down !== undefined && port_up !== undefined ? (['port.bounce'] as const) : []),
    ...(disconnect_aps !== undefined ? (['aps.disconnect'] as const) : []),
    // The agent stores the configuration and its downloads even if no hook applies them.
    'configure',
    'stage',
    ...(Object.values(services).some(({ install }) => install !== undefined) ? (['service.upgrade'] as const) : []),
    ...(distro_download !== undefined && distro_upgrade !== undefined ? (['distro.stage'] as const) : []),
    ...(distro_upgrade !== undefined ? (['distro.upgrade'] as const) : []),
    ...(support !== undefined ? (['support'] as const) : []),
  ]
}

function need(hooks: Hooks, hook: (typeof otherHooks)[number]): CommandLine {
  const commandLine = hooks[hook]
  if (commandLine === undefined) throw new NotExecuted(`No ${hook} is configured on the appliance`)
  return commandLine
}

async function readService(name: string, { services }: Hooks): Promise<Service> {
  const service = services[name]
  if (service === undefined) return { name, version: null, state: 'stopped' }
  const [version, status] = await Promise.all([runHook(service.version), runHook(service.status)])
  return {
    name,
    version: version.code === 0 ? version.printed.trim().slice(0, 200) || null : null,
    state: status.code === 0 ? 'running' : 'stopped',
  }
}
