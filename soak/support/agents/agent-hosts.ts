import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from '../../../bench/support/child.ts'
import type { MachinePlace } from '../../../test/edge/kills/machine-roles.ts'

/** An agent of a machine that is a folder. */
export interface HostedAgent extends MachinePlace {
  /** The folder of the agent's state. */
  readonly folder: string
  readonly url: string
  /** The registration code. */
  readonly code: string
  readonly gateway: { readonly host: string; readonly port: number }
}

/** Processes that run a part of the agents each. */
export interface AgentHosts {
  readonly count: number
  start(host: number): Promise<void>
  /** Ends a process immediately. The commands that its agents have begun continue. @throws Error if it has ended by itself. */
  kill(host: number): Promise<void>
  /** Returns a sentence for each process that has ended by itself. */
  listEnded(): string[]
  stop(): Promise<void>
}

const program = fileURLToPath(new URL('agent-host.ts', import.meta.url))

/** @param folder Receives the settings of the processes. */
export function createAgentHosts(folder: string, agents: readonly HostedAgent[], count: number): AgentHosts {
  const children = new Map<number, Child>()
  return {
    count,
    async start(host) {
      const file = join(folder, `agents-${host}.json`)
      await writeFile(file, JSON.stringify(agents.filter((_, index) => index % count === host)))
      children.set(host, await startChild({ args: [program, file], ready: /^agents ready/ }))
    },
    async kill(host) {
      const child = children.get(host)
      if (child?.isRunning() !== true) throw new Error(endedText(host))
      await child.kill()
      children.delete(host)
    },
    listEnded: () => [...children].filter(([, child]) => !child.isRunning()).map(([host]) => endedText(host)),
    async stop() {
      await Promise.all([...children.values()].map((child) => child.stop()))
    },
  }
}

function endedText(host: number): string {
  return `the agents of process ${host} have ended`
}
