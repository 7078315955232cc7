import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { builtProgram } from '../../../test/support/servers/built-program.ts'
import { startChild } from '../child.ts'
import { claimDevices, enroll } from '../devices.ts'
import { type LogLine, type Signalbox, benchAdmin, startSignalbox } from '../signalbox.ts'
import type { AttackReport, AttackerCommand, HostileTenant, World } from './attack.ts'
import { countDevices } from './device-attacks.ts'
import { SILENT_DOMAIN, startNameServer } from './name-server.ts'
import { signIn } from './sign-in.ts'
import { type Tenant, createTenant } from './tenant.ts'

const program = fileURLToPath(new URL('attacker.ts', import.meta.url))
const preload = new URL('use-name-server.ts', import.meta.url).href

/** The attackers delete what they have created when they stop, which takes longer the slower the service is. */
const OBEYED_WITHIN_MS = 180_000

/** A level of the log: the service met something that it did not expect. */
const ERROR = 50

export interface HostileWorld {
  readonly tenant: Tenant
  /** Creates the objects that the attacks need. */
  readonly prepare: (names: readonly string[]) => Promise<void>
  readonly start: (names: readonly string[]) => Promise<void>
  /** Ends all attacks. */
  readonly stop: () => Promise<AttackReport>
  /** Lines of the server's log that report errors. */
  readonly logged: readonly string[]
}

/**
 * Runs a server with its defaults on real sockets, beside it the attackers, and a well-behaved tenant in this process. Only
 * the room for firmware is smaller, so that it fills within an attack.
 * @param names The attacks that are to be possible.
 */
export async function withHostileWorld<T>(
  names: readonly string[],
  work: (world: HostileWorld) => Promise<T>,
): Promise<T> {
  const nameServer = await startNameServer()
  const deaf = createServer((socket) => void socket.on('error', () => undefined).resume())
  await once(deaf.listen(0, '127.0.0.1'), 'listening')
  const logged: string[] = []
  const signalbox = await startSignalbox({
    program: await builtProgram('server'),
    onLog: (line) => line.level >= ERROR && logged.push(describe(line)),
    imports: [preload],
    env: {
      SIGNALBOX_TEST_NAME_SERVER: nameServer.address,
      SIGNALBOX_LOG_LEVEL: 'warn',
      SIGNALBOX_REQUESTS_PER_HOUR: '5000',
      SIGNALBOX_FIRMWARE_ORG_MAX_MB: '256',
    },
  })
  try {
    const tenant = await createTenant(signalbox, benchAdmin.email, benchAdmin.password)
    const deafReceiver = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`
    const file = join(signalbox.dataDir, 'hostile-world.json')
    await writeFile(file, JSON.stringify(await createWorld(signalbox, { names, deafReceiver })))
    const attackers = await startChild({ args: [program, file], ready: /^attackers ready$/ })
    const ask = async (command: AttackerCommand): Promise<AttackReport> => {
      const reply = attackers.nextMessage()
      attackers.send(command)
      return (await within(OBEYED_WITHIN_MS, reply, `the attackers did not ${command.kind}`)) as AttackReport
    }
    try {
      return await work({
        tenant,
        prepare: async (names) => void (await ask({ kind: 'prepare', names })),
        start: async (names) => void (await ask({ kind: 'start', names })),
        stop: () => ask({ kind: 'stop', names: [] }),
        logged,
      })
    } finally {
      await attackers.stop()
      tenant.close()
    }
  } finally {
    await signalbox.stop()
    deaf.close()
    nameServer.close()
  }
}

/** @throws Error if the promise has not settled by then. */
async function within<T>(ms: number, promise: Promise<T>, complaint: string): Promise<T> {
  const over = new AbortController()
  const late = delay(ms, undefined, { signal: over.signal }).then(
    () => Promise.reject(new Error(`${complaint} within ${ms / 1000} s`)),
    () => promise,
  )
  return Promise.race([promise, late]).finally(() => over.abort())
}

function describe({ msg, err }: LogLine): string {
  const reason = typeof err === 'object' && err !== null && 'message' in err ? `: ${String(err.message)}` : ''
  return `the server logged "${msg}${reason}"`
}

interface WorldOptions {
  readonly names: readonly string[]
  readonly deafReceiver: string
}

async function createWorld(signalbox: Signalbox, { names, deafReceiver }: WorldOptions): Promise<World> {
  const { hostname: host, port } = new URL(signalbox.url)
  const tenants: Record<string, HostileTenant> = {}
  for (const name of names) tenants[name] = await createHostileTenant(signalbox, name)
  const owner = await createOwner(signalbox)
  const { ca, devices } = await enroll(signalbox, await claimDevices(owner, countDevices(names)))
  return {
    host,
    port: Number(port),
    ucentralPort: signalbox.ucentralPort,
    edgePort: signalbox.edgePort,
    victimEmail: benchAdmin.email,
    deafReceiver,
    silentDomain: SILENT_DOMAIN,
    ca,
    devices,
    tenants,
  }
}

interface Bootstrapped {
  readonly org_id: string
  readonly api_token: string
}

const PASSWORD = 'not a secret either'

async function bootstrap({ operate }: Signalbox, name: string): Promise<Bootstrapped> {
  const body = { email: `${name}@hostile.test`, password: PASSWORD, org: name }
  return (await operate('POST', '/operator/v1/bootstrap', body)) as Bootstrapped
}

async function createHostileTenant(signalbox: Signalbox, name: string): Promise<HostileTenant> {
  const { org_id: orgId, api_token: token } = await bootstrap(signalbox, name)
  const call = signalbox.callAs(`Token ${token}`)
  const { id: siteId } = (await call('POST', `/api/v1/orgs/${orgId}/sites`, { name: 'Site' })) as { id: string }
  const email = `${name}@hostile.test`
  const headers = await signIn(signalbox.url, email, PASSWORD)
  return { orgId, siteId, email, password: PASSWORD, headers }
}

/** The organization of all hostile devices. */
async function createOwner(signalbox: Signalbox): Promise<Pick<Signalbox, 'orgId' | 'call' | 'operate'>> {
  const { org_id: orgId, api_token: token } = await bootstrap(signalbox, 'devices')
  return { orgId, call: signalbox.callAs(`Token ${token}`), operate: signalbox.operate }
}
