import {
  type RouterMethod,
  type RouterParams,
  isRouterMethod,
  isRouterParams,
} from '../../gateway/edge/router-messages.ts'
import { NotExecuted } from '../appliance.ts'
import { createMachineReporter } from '../machine/facts.ts'
import type { Executor, Role, RoleParts } from '../role.ts'
import type { Router } from './router.ts'
import { uploadSupport } from '../downloads/support.ts'

/** The identity under which the router registers. */
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
    executor: routerExecutor(parts, router, identity),
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

/** A reboot at the request of a command, and the boot before it. */
interface Reboot {
  readonly command_id: string
  readonly boot_id: string
  /** The last installed image; null or absent: unknown. */
  readonly installed?: Staged | null
}

function routerExecutor(parts: RoleParts, router: Router, { mac }: RouterIdentity): Executor {
  let last: Promise<unknown> = Promise.resolve()
  return {
    check({ method, params }) {
      if (!isRouterMethod(method) || !router.methods.includes(method)) return 'unknown_method'
      return isRouterParams(method, params) ? null : 'invalid_params'
    },
    /**
     * Commands run one after the other: a reboot must not interrupt an installation. Collecting files interrupts
     * nothing.
     */
    run({ method, params }) {
      if (isRouterParams('support', params) && method === 'support')
        return uploadSupport(parts, { name: mac, collectSupport: (path) => router.collectSupport(path) }, params)
      const work = async (): Promise<string> => {
        await router.awaitReboot()
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

/**
 * Installs the downloaded image, and reboots. An installed image is no longer staged: a second command for the same
 * image does not install it again, but waits for the same reboot.
 */
async function activate(
  parts: RoleParts,
  router: Router,
  { command_id, version, sha256 }: RouterParams<'activate'>,
): Promise<string> {
  const { state, feed, onPoint } = parts
  const asked = await readReboot(parts)
  const path = asked?.command_id === command_id ? null : await findStaged(parts, { version, sha256 })
  if (path === null && asked?.command_id !== command_id && !isInstalled(asked, { version, sha256 }))
    throw new NotExecuted(`The router has not downloaded ${version}`)
  if (path === null && asked?.boot_id !== (await router.bootId())) {
    const runs = await router.version()
    if (runs !== version)
      throw new Error(`The router rebooted after the installation, but runs ${runs}, not ${version}`)
    return `runs ${version}`
  }
  if (path !== null) {
    feed.report({ command_id, step: 'install', percent: null })
    await router.install({ path, version })
    onPoint('package installed')
  }
  await recordReboot(parts, router, { command_id, installed: { version, sha256 } })
  await state.remove(STAGED)
  await router.reboot(null, command_id)
  onPoint('reboot begun')
  return `installed ${version}, and reboots`
}

/** Returns the path of the image that `stage` has downloaded; null if that was another one. */
async function findStaged({ state, downloads }: RoleParts, { version, sha256 }: Staged): Promise<string | null> {
  const text = await state.read(STAGED)
  const staged = text === null ? null : (JSON.parse(text) as Staged)
  return staged?.sha256 === sha256 && staged.version === version ? downloads.find(sha256) : null
}

function isInstalled(asked: Reboot | null, { version, sha256 }: Staged): boolean {
  return asked?.installed?.version === version && asked.installed.sha256 === sha256
}

async function restart(
  parts: RoleParts,
  router: Router,
  { command_id, node }: RouterParams<'restart'>,
): Promise<string> {
  if (node !== undefined && !router.nodes.includes(node)) throw new NotExecuted(`The router has no node ${node}`)
  const asked = await readReboot(parts)
  const hasBooted = asked?.command_id === command_id && asked.boot_id !== (await router.bootId())
  if (!hasBooted) {
    await recordReboot(parts, router, { command_id, installed: asked?.installed ?? null })
    await router.reboot(node ?? null, command_id)
    parts.onPoint('reboot begun')
  }
  return node === undefined ? 'reboots' : `${node} reboots`
}

/** Returns the last requested reboot. */
async function readReboot({ state }: RoleParts): Promise<Reboot | null> {
  const text = await state.read(REBOOT)
  return text === null ? null : (JSON.parse(text) as Reboot)
}

/** A boot with another id than the recorded one shows that the command must not reboot the router again. */
async function recordReboot(
  { state, onPoint }: RoleParts,
  router: Router,
  asked: Omit<Reboot, 'boot_id'>,
): Promise<void> {
  const reboot: Reboot = { ...asked, boot_id: await router.bootId() }
  await state.write(REBOOT, JSON.stringify(reboot))
  onPoint('reboot recorded')
}
