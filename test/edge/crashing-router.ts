// The agent of a router that kills itself at the given occurrence of a point: FOLDER URL CODE MAC [POINT COUNT]
import { dryRunRouter } from '../../src/agent/router-dry-run.ts'
import { createRouterRole } from '../../src/agent/router-role.ts'
import { runAgent } from '../../src/agent/run-agent.ts'

const [folder = '', url = '', code = '', mac = '', crashPoint = '', count = '1'] = process.argv.slice(2)
let left = Number(count)
process.once('disconnect', () => process.exit())
await runAgent({
  folder,
  roleOf: async (parts) =>
    createRouterRole(parts, await dryRunRouter(parts.state), { mac, model: 'SSR120', serial: `S${mac}` }),
  registration: { url, code },
  version: '0.1.0',
  log: () => {},
  signal: new AbortController().signal,
  onPoint(point) {
    if (point !== crashPoint) return
    left -= 1
    if (left === 0) process.kill(process.pid, 'SIGKILL')
  },
})
