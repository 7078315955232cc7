import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createAgentHosts } from '../../soak/support/agents/agent-hosts.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

it('refuses to kill a process of agents that has ended by itself', async () => {
  const folder = await temporaryDir()
  const machine = { role: 'edge', machine: folder, script: '', mac: '' } as const
  const service = { url: 'http://127.0.0.1:1', code: '', gateway: { host: '127.0.0.1', port: 1 } }
  // The file of the settings is no folder.
  const agent = { ...machine, ...service, folder: join(folder, 'agents-0.json', 'agent') }
  const hosts = createAgentHosts(folder, [agent], 1)
  onTestFinished(() => hosts.stop())
  await hosts.start(0)
  const ended = 'the agents of process 0 have ended'
  await waitUntil('the process has ended', async () => hosts.listEnded().includes(ended))
  await expect(hosts.kill(0)).rejects.toThrow(ended)
})
