import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Method } from '../gateway/edge/messages.ts'
import { type Appliance, NotExecuted, type Service, type ServiceAction } from './appliance.ts'

/** A program with its arguments; no shell is involved. */
export type CommandLine = readonly [string, ...(readonly string[])]

/** The commands of a service. `version` prints its version; `status` ends with 0 while it runs. */
export type ServiceHooks = Readonly<Record<'version' | 'status' | ServiceAction, CommandLine>>

/**
 * What the operator has configured. `port_down` and `port_up` get the name of the port as their last argument; the other
 * hooks get the params of the command as JSON on their input.
 */
export interface Hooks {
  readonly services: Readonly<Record<string, ServiceHooks>>
  readonly port_down?: CommandLine
  readonly port_up?: CommandLine
  readonly disconnect_aps?: CommandLine
  readonly configure?: CommandLine
}

const serviceHooks = ['version', 'status', 'start', 'stop', 'restart'] as const
const otherHooks = ['port_down', 'port_up', 'disconnect_aps', 'configure'] as const

/** @throws Error that names the member of the file. */
export async function readHooks(path: string): Promise<Hooks> {
  const hooks: unknown = JSON.parse(await readFile(path, 'utf8'))
  if (!isRecord(hooks) || !isRecord(hooks['services'])) throw new Error(`${path}: services must be an object`)
  for (const [name, service] of Object.entries(hooks['services'])) {
    for (const hook of serviceHooks) {
      if (!isRecord(service) || !isCommandLine(service[hook]))
        throw new Error(`${path}: services.${name}.${hook} must be a list of texts, a program and its arguments`)
    }
  }
  for (const hook of otherHooks) {
    if (hooks[hook] !== undefined && !isCommandLine(hooks[hook]))
      throw new Error(`${path}: ${hook} must be a list of texts, a program and its arguments`)
  }
  // Every member has just been checked.
  return hooks as unknown as Hooks
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCommandLine(value: unknown): value is CommandLine {
  return Array.isArray(value) && Boolean(value[0]) && value.every((part) => typeof part === 'string')
}

/** An appliance that runs the operator's commands. */
export function hookAppliance(hooks: Hooks): Appliance {
  const names = Object.keys(hooks.services)
  return {
    methods: methodsOf(hooks),
    services: () => Promise.all(names.map((name) => readService(name, hooks))),
    async control(name, action) {
      const service = Object.hasOwn(hooks.services, name) ? hooks.services[name] : undefined
      if (service === undefined) throw new NotExecuted(`There is no service ${name}`)
      await runOrThrow(service[action])
    },
    async bouncePorts(ports, holdMs) {
      const [down, up] = [need(hooks, 'port_down'), need(hooks, 'port_up')]
      const downs = await Promise.allSettled(ports.map((port) => runOrThrow([...down, port])))
      await wait(holdMs)
      // A port that fails must not keep the others down.
      const ups = await Promise.allSettled(ports.map((port) => runOrThrow([...up, port])))
      for (const result of [...downs, ...ups]) if (result.status === 'rejected') throw result.reason
    },
    async disconnectAps(macs) {
      await runOrThrow(need(hooks, 'disconnect_aps'), { macs })
    },
    async configure(configuration) {
      if (hooks.configure !== undefined) await runOrThrow(hooks.configure, configuration)
    },
  }
}

function methodsOf({ services, port_down, port_up, disconnect_aps }: Hooks): Method[] {
  return [
    ...(Object.keys(services).length > 0 ? (['service.control'] as const) : []),
    ...(port_down !== undefined && port_up !== undefined ? (['port.bounce'] as const) : []),
    ...(disconnect_aps !== undefined ? (['aps.disconnect'] as const) : []),
    // The agent keeps the configuration, also where no hook applies it.
    'configure',
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
  const [version, status] = await Promise.all([run(service.version), run(service.status)])
  return {
    name,
    version: version.code === 0 ? version.output.trim().slice(0, 200) || null : null,
    state: status.code === 0 ? 'running' : 'stopped',
  }
}

async function runOrThrow(commandLine: CommandLine, input?: object): Promise<void> {
  const { code, output } = await run(commandLine, input)
  if (code !== 0) throw new Error(`${commandLine[0]} ended with ${code}: ${output.trim().slice(-300)}`)
}

const MAX_OUTPUT = 16_384
const TIMEOUT_MS = 150_000

function run([program, ...args]: CommandLine, input?: object): Promise<{ code: number | string; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
    let output = ''
    const add = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-MAX_OUTPUT)
    }
    child.stdout.on('data', add)
    child.stderr.on('data', add)
    // A program that does not read its input closes the pipe.
    child.stdin.on('error', () => {})
    child.stdin.end(input === undefined ? '' : JSON.stringify(input))
    child.on('error', (error) => resolve({ code: 'no start', output: error.message }))
    child.on('close', (code, signal) => resolve({ code: code ?? signal ?? 'unknown', output }))
  })
}
