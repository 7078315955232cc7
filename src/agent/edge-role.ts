import { type Method, type ParamsOf, isMethod, isParamsOf } from '../gateway/edge/messages.ts'
import { type Appliance, NotExecuted } from './appliance.ts'
import { createReporter, readMachineFacts } from './machine/facts.ts'
import { readCredentials } from './register.ts'
import type { Executor, Order, Role, RoleParts } from './role.ts'
import type { State } from './state.ts'
import { uploadSupport } from './downloads/support.ts'
import { type Upgrades, createUpgrades } from './upgrades.ts'

/** The agent of an edge appliance. */
export async function createEdgeRole(parts: RoleParts, appliance: Appliance): Promise<Role> {
  const { state, folder } = parts
  const facts = await readMachineFacts()
  const report = createReporter(folder, appliance)
  return {
    registration: { path: '/api/v1/mxedges/register', body: {} },
    executor: edgeExecutor({
      appliance,
      upgrades: createUpgrades({ ...parts, appliance }),
      support: async (params) => {
        const name = (await readCredentials(state))?.mxedge_id ?? ''
        return uploadSupport(parts, { name, collectSupport: (path) => appliance.collectSupport(path) }, params)
      },
      state,
    }),
    bootId: async () => facts.boot_id,
    hello: async () => ({
      ...facts,
      distro: await appliance.distro(),
      methods: appliance.methods,
      config_sha256: await readConfigSha256(state),
      report: await report(),
    }),
    report,
    changing: new Set<Method>(['service.control', 'service.upgrade', 'distro.upgrade']),
  }
}

const CONFIGURATION = 'configuration.json'

/** Returns the SHA-256 of the configuration that was applied last. */
async function readConfigSha256(state: State): Promise<string | null> {
  const text = await state.read(CONFIGURATION)
  return text === null ? null : (JSON.parse(text) as ParamsOf<'configure'>).sha256
}

export interface EdgeMachine {
  readonly appliance: Appliance
  readonly upgrades: Upgrades
  /** Collects support files and uploads them. */
  readonly support: (params: ParamsOf<'support'>) => Promise<string>
  readonly state: State
}

export function edgeExecutor(machine: EdgeMachine): Executor {
  return {
    check({ method, params }) {
      if (!isMethod(method)) return 'unknown_method'
      return isParamsOf(method, params) ? null : 'invalid_params'
    },
    run: (order) => run(machine, order),
  }
}

async function run({ appliance, upgrades, support, state }: EdgeMachine, { method, params }: Order): Promise<string> {
  if (isParamsOf('service.control', params) && method === 'service.control') {
    await appliance.control(params.service, params.action)
    return `${params.action} ${params.service}`
  }
  if (isParamsOf('port.bounce', params) && method === 'port.bounce') {
    await appliance.bouncePorts(params.ports, params.hold_ms)
    return `bounced ${params.ports.length} ports`
  }
  if (isParamsOf('aps.disconnect', params) && method === 'aps.disconnect') {
    await appliance.disconnectAps(params.macs)
    return `disconnected ${params.macs.length} access points`
  }
  if (isParamsOf('configure', params) && method === 'configure') {
    await appliance.configure(params.configuration)
    await state.write(CONFIGURATION, JSON.stringify(params))
    return params.sha256
  }
  if (isParamsOf('stage', params) && method === 'stage') return upgrades.stage(params)
  if (isParamsOf('service.upgrade', params) && method === 'service.upgrade') return upgrades.upgradeService(params)
  if (isParamsOf('distro.stage', params) && method === 'distro.stage') return upgrades.stageDistro(params)
  if (isParamsOf('distro.upgrade', params) && method === 'distro.upgrade') return upgrades.upgradeDistro(params)
  if (isParamsOf('support', params) && method === 'support') return support(params)
  throw new NotExecuted(`The agent has no method ${method}`)
}
