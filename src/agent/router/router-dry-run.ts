import { randomUUID } from 'node:crypto'
import { stat, writeFile } from 'node:fs/promises'
import type { Router, RouterNode } from './router.ts'
import type { State } from '../state.ts'

const JOURNAL = 'dry-run.json'

/** The state of a dry run: the firmware, the boot, and a log of all commands. */
export interface RouterDryRun {
  readonly version: string
  /** Installed, and running after the next reboot; null: none. */
  readonly installed: string | null
  readonly boot_id: string
  readonly booted_ms: number
  /** The command that rebooted a node last; null: none. */
  readonly node_command: string | null
  readonly done: readonly string[]
}

export async function readRouterDryRun(state: State): Promise<RouterDryRun | null> {
  const text = await state.read(JOURNAL)
  return text === null ? null : (JSON.parse(text) as RouterDryRun)
}

export interface RouterDryRunOptions {
  readonly nodes?: readonly RouterNode[]
  /** That it runs before the first upgrade. */
  readonly version?: string
}

/** A router that changes nothing on the machine, and records the actions instead; a reboot changes the boot id. */
export async function dryRunRouter(
  state: State,
  { nodes = [], version = '6.1.0' }: RouterDryRunOptions = {},
): Promise<Router> {
  const first: RouterDryRun = { version, installed: null, ...newBoot(), node_command: null, done: [] }
  const read = async () => (await readRouterDryRun(state)) ?? first
  const write = async (changes: Partial<RouterDryRun>) =>
    state.write(JOURNAL, JSON.stringify({ ...(await read()), ...changes }))
  await write({})
  return {
    methods: ['restart', 'stage', 'activate', 'support'],
    nodes,
    bootId: async () => (await read()).boot_id,
    uptimeS: async () => Math.max(0, (Date.now() - (await read()).booted_ms) / 1000),
    version: async () => (await read()).version,
    async install({ path, version: installed }) {
      const { size } = await stat(path)
      const { done } = await read()
      await write({ installed, done: [...done, `install ${installed} of ${size} bytes`] })
    },
    awaitReboot: async () => {},
    async reboot(node, commandId) {
      const { done, installed, version: runs, node_command: former } = await read()
      if (node !== null && former === commandId) return
      const next = [...done, node === null ? 'reboot' : `reboot ${node}`]
      // The agent runs on the first node.
      const isOwn = node !== 'node1'
      const command = node === null ? {} : { node_command: commandId }
      await write({
        done: next,
        ...command,
        ...(isOwn && { ...newBoot(), version: installed ?? runs, installed: null }),
      })
    },
    async collectSupport(path) {
      await writeFile(path, JSON.stringify(await read()), { mode: 0o600 })
      const { done } = await read()
      await write({ done: [...done, 'collect support files'] })
    },
  }
}

function newBoot(): Pick<RouterDryRun, 'boot_id' | 'booted_ms'> {
  return { boot_id: randomUUID(), booted_ms: Date.now() }
}
