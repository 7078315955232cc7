// An agent that kills itself at the given occurrence of a point: FOLDER URL CODE [POINT COUNT]
import { dryRunAppliance } from '../../src/agent/dry-run.ts'
import { createEdgeRole } from '../../src/agent/edge-role.ts'
import { runAgent } from '../../src/agent/run-agent.ts'

const [folder = '', url = '', code = '', crashPoint = '', count = '1'] = process.argv.slice(2)
let left = Number(count)
process.once('disconnect', () => process.exit())
await runAgent({
  folder,
  roleOf: (parts) => createEdgeRole(parts, dryRunAppliance(parts.state)),
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
