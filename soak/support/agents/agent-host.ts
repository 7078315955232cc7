// Runs the agents of several machines in one process, which ends with its parent. The first argument is a file with their settings.
import { readFileSync } from 'node:fs'
import { runAgent } from '../../../src/agent/run-agent.ts'
import { roleOfMachine } from '../../../test/edge/kills/machine-roles.ts'
import type { HostedAgent } from './agent-hosts.ts'

const agents = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as readonly HostedAgent[]

process.once('disconnect', () => process.exit())
for (const agent of agents) {
  const { folder, url, code, gateway } = agent
  // An agent that can't go on ends the process, which the soak reports.
  void runAgent({
    folder,
    roleOf: (parts) => roleOfMachine(agent, parts),
    registration: { url, code },
    gateway,
    version: '0.1.0',
    log: () => {},
    signal: new AbortController().signal,
  }).then((ended) => {
    throw new Error(`the agent in ${folder} has ended: ${ended}`)
  })
}
process.stdout.write('agents ready\n')
