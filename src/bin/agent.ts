import type { KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { dryRunAppliance } from '../agent/dry-run.ts'
import { createEdgeRole } from '../agent/edge-role.ts'
import { hookAppliance, readHooks } from '../agent/hooks/hooks.ts'
import { consoleLog } from '../agent/log.ts'
import type { Role, RoleParts } from '../agent/role.ts'
import { dryRunRouter } from '../agent/router/router-dry-run.ts'
import { hookRouter, readRouterHooks } from '../agent/router/router-hooks.ts'
import { readRouterIdentity } from '../agent/router/router-identity.ts'
import { createRouterRole } from '../agent/router/router-role.ts'
import { type AgentOptions, runAgent } from '../agent/run-agent.ts'
import { parseEd25519Key } from '../platform/ed25519.ts'
import { version } from '../platform/version.ts'
import { messageOf } from '../platform/message-of.ts'

const usage = `usage: agent --state DIR [options]

The agent of an edge appliance or an SSR router. It registers once and stays connected to the gateway of
Signalbox, reports the state of the machine, and executes commands.

  --state DIR       folder for its key, its certificate, its configuration and its record of commands
  --url URL         address of Signalbox, to register: https, or http on the same machine
  --code CODE       registration code of the edge appliance (its "magic") or of the organization of the router;
                    or in SIGNALBOX_AGENT_CODE
  --register-again  registers with its present key although it is registered: for a service with another CA; if it
                    can't, it ends with the reason and keeps its certificate
  --role ROLE       edge (the default): an edge appliance; ssr: an SSR router
  --mac MAC         of the router, if not the lowest of its interfaces
  --model MODEL     of the router, such as SSR120, if not what the machine says
  --serial SERIAL   of the router, if not what the machine says
  --ca FILE         PEM file: the CA of an https server that no public CA has certified
  --gateway H:P     host and port to connect to, if not those that the service said at the registration
  --package-key FILE  PEM file: an Ed25519 public key; only packages that it has signed are installed
  --hooks FILE      JSON file: the commands that control the services and ports; see docs/edge-appliances.md
  --dry-run         changes nothing on the machine, and notes in DIR/dry-run.json what it would do
  --help            prints this text

Ends with 3 when its registration has ended; it then needs a new code.`

const UNREGISTERED = 3

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      state: { type: 'string' },
      url: { type: 'string' },
      code: { type: 'string' },
      ca: { type: 'string' },
      gateway: { type: 'string' },
      'package-key': { type: 'string' },
      hooks: { type: 'string' },
      'dry-run': { type: 'boolean' },
      'register-again': { type: 'boolean' },
      role: { type: 'string', default: 'edge' },
      mac: { type: 'string' },
      model: { type: 'string' },
      serial: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help === true) {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  if (values.state === undefined) throw new Error('--state is needed; --help lists the options')
  if ((values.hooks === undefined) === (values['dry-run'] !== true))
    throw new Error('Either --hooks or --dry-run is needed')
  // The reader of the output may be gone, or its disk full, which must not end the agent.
  process.stdout.on('error', () => {})
  const { url, role } = values
  if (role !== 'edge' && role !== 'ssr') throw new Error(`--role ${role} is neither edge nor ssr`)
  // In the environment the code does not appear in the list of processes.
  const code = values.code ?? process.env['SIGNALBOX_AGENT_CODE']
  const ca = values.ca === undefined ? undefined : await readFile(values.ca, 'utf8')
  const keyFile = values['package-key']
  const packageKey = keyFile === undefined ? undefined : await readPackageKey(keyFile)
  const roleOf = await (role === 'ssr' ? chooseRouter(values) : chooseAppliance(values.hooks))
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  // The runner that has started this process has ended.
  process.once('disconnect', () => stopping.abort())
  const options: AgentOptions = {
    folder: values.state,
    roleOf,
    ...(url !== undefined && code !== undefined && { registration: { url, code } }),
    registersAgain: values['register-again'] === true,
    ...(ca !== undefined && { ca }),
    ...(packageKey !== undefined && { packageKey }),
    ...(values.gateway !== undefined && { gateway: parseGateway(values.gateway) }),
    version,
    log: consoleLog,
    signal: stopping.signal,
  }
  return (await runAgent(options)) === 'unregistered' ? UNREGISTERED : 0
}

type MakeRole = (parts: RoleParts) => Promise<Role>

async function chooseAppliance(hooksFile: string | undefined): Promise<MakeRole> {
  if (hooksFile === undefined) return (parts) => createEdgeRole(parts, dryRunAppliance(parts.state))
  const hooks = await readHooks(hooksFile)
  return (parts) => createEdgeRole(parts, hookAppliance(hooks, parts))
}

interface RouterValues {
  readonly hooks?: string | undefined
  readonly mac?: string | undefined
  readonly model?: string | undefined
  readonly serial?: string | undefined
}

/** A dry run has both, so that every command can be tried. */
const bothNodes = ['node0', 'node1'] as const

async function chooseRouter({ hooks: hooksFile, mac, model, serial }: RouterValues): Promise<MakeRole> {
  const identity = await readRouterIdentity({
    ...(mac !== undefined && { mac }),
    ...(model !== undefined && { model }),
    ...(serial !== undefined && { serial }),
  })
  if (hooksFile === undefined)
    return async (parts) => createRouterRole(parts, await dryRunRouter(parts.state, { nodes: bothNodes }), identity)
  const hooks = await readRouterHooks(hooksFile)
  return async (parts) => createRouterRole(parts, hookRouter(hooks, parts), identity)
}

/** @throws Error for anything but an Ed25519 public key. */
async function readPackageKey(path: string): Promise<KeyObject> {
  const pem = await readFile(path, 'utf8')
  const key = parseEd25519Key(pem)
  if (key === null) throw new Error(`--package-key ${path} is not an Ed25519 public key in PEM`)
  return key
}

/** @throws Error for anything but a name or an address with a port. */
function parseGateway(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s/]+)):([0-9]{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) throw new Error(`--gateway ${text} is not HOST:PORT`)
  return { host, port: Number(port) }
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`agent: ${messageOf(error)}\n`)
  process.exitCode = 1
} finally {
  // A channel to the runner that has started this process would keep it alive.
  if (process.connected) process.disconnect()
}
