import {
  type RouterMethod,
  type RouterParams,
  isRouterMethod,
  isRouterParams,
} from '../gateway/edge/router-messages.ts'
import { NotExecuted } from './appliance.ts'
import { createMachineReporter } from './facts.ts'
import type { Executor, Role, RoleParts } from './role.ts'
import type { Router } from './router.ts'

/** By which the router registers and is known. */
export interface RouterIdentity {
  /** Twelve lower-case hex digits. */
  readonly mac: string
  readonly model: string
  readonly serial: string
}

/** The agent of an SSR router. */
export function createRouterRole(parts: RoleParts, router: Router, identity: RouterIdentity): Role {
  const machine = createMachineReporter(parts.folder)
  const report = async () => ({ ...(await machine()), uptime_s: await router.uptimeS() })
  return {
    registration: { path: '/api/v1/ssr/register', body: identity },
    executor: routerExecutor(parts, router),
    bootId: () => router.bootId(),
    hello: async () => ({
      role: 'ssr',
      ...identity,
      boot_id: await router.bootId(),
      version: await router.version(),
      nodes: router.nodes,
      methods: router.methods,
      report: await report(),
    }),
    report,
    changing: new Set<RouterMethod>(),
  }
}

const STAGED = 'staged.json'
const REBOOT = 'reboot.json'

/** The image that `activate` installs. */
type Staged = Pick<RouterParams<'activate'>, 'version' | 'sha256'>

/** A reboot that a command has asked for, and the boot before it. */
interface Reboot {
  readonly command_id: string
  readonly boot_id: string
}

function routerExecutor(parts: RoleParts, router: Router): Executor {
  let last: Promise<unknown> = Promise.resolve()
  return {
    check({ method, params }) {
      if (!isRouterMethod(method) || !router.methods.includes(method)) return 'unknown_method'
      return isRouterParams(method, params) ? null : 'invalid_params'
    },
    /** One after the other: a reboot must not interrupt an installation. */
    run({ method, params }) {
      const work = async (): Promise<string> => {
        if (isRouterParams('stage', params) && method === 'stage') return stage(parts, params)
        if (isRouterParams('activate', params) && method === 'activate') return activate(parts, router, params)
        if (isRouterParams('restart', params) && method === 'restart') return restart(parts, router, params)
        throw new NotExecuted(`The agent has no method ${method}`)
      }
      const ended = last.then(work, work)
      last = ended
      return ended
    },
  }
}

async function stage(
  { downloads, state, feed, onPoint }: RoleParts,
  { command_id, version, artifact }: RouterParams<'stage'>,
): Promise<string> {
  await state.remove(STAGED)
  // Images are large: the disk has one at a time.
  await downloads.removeOthers(artifact)
  await downloads.fetch(artifact, (percent) => feed.report({ command_id, step: 'download', percent }))
  onPoint('artifact downloaded')
  const staged: Staged = { version, sha256: artifact.sha256 }
  await state.write(STAGED, JSON.stringify(staged))
  return `downloaded ${version}`
}

async function activate(
  parts: RoleParts,
  router: Router,
  { command_id, version, sha256 }: RouterParams<'activate'>,
): Promise<string> {
  const { state, downloads, feed, onPoint } = parts
  if (await hasRebooted(parts, router, command_id)) {
    const runs = await router.version()
    if (runs !== version)
      throw new Error(`The router rebooted after the installation, but runs ${runs}, not ${version}`)
    return `runs ${version}`
  }
  const text = await state.read(STAGED)
  const staged = text === null ? null : (JSON.parse(text) as Staged)
  const path = staged?.sha256 === sha256 && staged.version === version ? await downloads.find(sha256) : null
  if (path === null) throw new NotExecuted(`The router has not downloaded ${version}`)
  feed.report({ command_id, step: 'install', percent: null })
  await router.install({ path, version })
  onPoint('package installed')
  await reboot(parts, router, { command_id, node: null })
  return `installed ${version}, and reboots`
}

async function restart(
  parts: RoleParts,
  router: Router,
  { command_id, node }: RouterParams<'restart'>,
): Promise<string> {
  if (node !== undefined && !router.nodes.includes(node)) throw new NotExecuted(`The router has no node ${node}`)
  if (!(await hasRebooted(parts, router, command_id))) await reboot(parts, router, { command_id, node: node ?? null })
  return node === undefined ? 'reboots' : `${node} reboots`
}

/** True if the router has booted since the command asked for it: the command must not reboot it again. */
async function hasRebooted({ state }: RoleParts, router: Router, commandId: string): Promise<boolean> {
  const text = await state.read(REBOOT)
  const asked = text === null ? null : (JSON.parse(text) as Reboot)
  return asked?.command_id === commandId && asked.boot_id !== (await router.bootId())
}

interface RebootOrder {
  readonly command_id: string
  readonly node: Parameters<Router['reboot']>[0]
}

async function reboot({ state, onPoint }: RoleParts, router: Router, { command_id, node }: RebootOrder): Promise<void> {
  const asked: Reboot = { command_id, boot_id: await router.bootId() }
  await state.write(REBOOT, JSON.stringify(asked))
  onPoint('reboot recorded')
  await router.reboot(node)
  onPoint('reboot begun')
}
