// An agent whose runner kills it at points: it runs the commands of machine.sh. Its options are the first argument, as JSON.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { createEdgeRole } from '../../../src/agent/edge-role.ts'
import { hookAppliance } from '../../../src/agent/hooks/hooks.ts'
import type { Point } from '../../../src/agent/points.ts'
import type { Role, RoleParts } from '../../../src/agent/role.ts'
import { hookRouter } from '../../../src/agent/router/router-hooks.ts'
import { createRouterRole } from '../../../src/agent/router/router-role.ts'
import { runAgent } from '../../../src/agent/run-agent.ts'
import type { CommandLine } from '../../../src/agent/hooks/run-hook.ts'
import type { AgentSettings, AgentStatus, Kill } from './killable-agent.ts'

const settings = JSON.parse(process.argv[2] ?? '') as AgentSettings
const { machine, script } = settings

const hook = (subject: string, what: string): CommandLine => [script, machine, subject, what]
const prints = (file: string): CommandLine => ['cat', join(machine, file)]
const read = (file: string): string => readFileSync(join(machine, file), 'utf8')

async function edgeRole(parts: RoleParts): Promise<Role> {
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
  return createEdgeRole(parts, { ...hookAppliance(hooks, parts), distro: async () => read('distro') })
}

async function routerRole(parts: RoleParts): Promise<Role> {
  const hooks = {
    version: prints('version'),
    install: hook('packages', 'install'),
    reboot: hook('reboot', 'reboot'),
    reboot_node: hook('reboot', 'node'),
    support: hook('support', 'support'),
    nodes: ['node0', 'node1'],
  } as const
  const router = { ...hookRouter(hooks, parts), bootId: async () => read('boot') }
  return createRouterRole(parts, router, { mac: settings.mac, model: 'SSR120', serial: `S${settings.mac}` })
}

let armed: Kill | null = settings.kill
let passed: Point[] = []
let connectedBoot: string | null = null

function onPoint(point: Point): void {
  passed.push(point)
  const [at, occurrence] = armed ?? []
  const isTurn = passed.filter((each) => each === point).length === occurrence
  // A hook that still runs when the agent starts again can overlap with its repetition.
  if (point === 'hook recorded' && at === 'hook begun' && isTurn) writeFileSync(join(machine, 'hold'), '')
  if (point === 'earlier hook awaited') rmSync(join(machine, 'hold'), { force: true })
  if (point === at && isTurn) process.kill(process.pid, 'SIGKILL')
}

/** False while an answer may be sent again. */
function isEverythingDelivered(): boolean {
  const folder = join(settings.folder, 'commands')
  const records = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return records.every((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')).delivered === true)
}

process.once('disconnect', () => process.exit())
process.on('message', (message: { readonly arm?: Kill | null }) => {
  if (message.arm !== undefined) {
    armed = message.arm
    passed = []
  }
  const status: AgentStatus = { passed, isSettled: connectedBoot === read('boot') && isEverythingDelivered() }
  process.send?.(status)
})

await runAgent({
  folder: settings.folder,
  roleOf: settings.role === 'edge' ? edgeRole : routerRole,
  registration: { url: settings.url, code: settings.code },
  version: '0.1.0',
  log(what) {
    if (what === 'connected') {
      connectedBoot = read('boot')
      // Node would store the compiled program only at an orderly end, and hundreds of agents are killed.
      flushCompileCache()
    }
    if (what === 'disconnected') connectedBoot = null
  },
  signal: new AbortController().signal,
  onPoint,
})
