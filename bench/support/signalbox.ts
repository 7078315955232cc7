import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from './child.ts'

type Call = (method: string, path: string, body?: unknown) => Promise<unknown>

/** A server as a user would start it, on free ports and with a data folder that is deleted with it. */
export interface Signalbox {
  readonly url: string
  readonly pid: number
  readonly ucentralPort: number
  readonly edgePort: number
  /** Junos devices can't call home where it is null. */
  readonly netconfPort: number | null
  readonly dataDir: string
  readonly orgId: string
  /** The full Authorization header of the organization's administrator. */
  readonly authorization: string
  /**
   * Calls the API as the administrator.
   * @throws Error for every status but 2xx.
   */
  readonly call: Call
  /** Like call(), with the operator's key. */
  readonly operate: Call
  /** Returns a function that calls with another Authorization header. */
  readonly callAs: (authorization: string) => Call
  /** Sends a message to the process of the server, and resolves with its reply. */
  readonly ask: (message: string | object) => Promise<unknown>
  /** Sends a message without a reply. */
  readonly tell: (message: string | object) => void
  /** Stops the server and starts it again after a pause, with its data and ports. */
  restart(pauseMs: number): Promise<void>
  /** Kills the server and starts it again immediately, with its data and ports. */
  crash(): Promise<void>
  stop(): Promise<void>
}

const server = fileURLToPath(new URL('../../src/bin/server.ts', import.meta.url))

/** A line of the server's log. */
export type LogLine = Readonly<Record<string, unknown>> & {
  readonly level: number
  readonly time: string
  readonly msg: string
}

export interface SignalboxOptions {
  /** The program of the server. Default: src/bin/server.ts. */
  readonly program?: string
  readonly netconf?: boolean
  /** Settings besides those of every benchmark, which they precede. */
  readonly env?: Readonly<Record<string, string>>
  /** Modules that are loaded before the server. */
  readonly imports?: readonly string[]
  /** Receives the log, with its details; otherwise warnings go to the standard error output. */
  readonly onLog?: (line: LogLine) => void
}

/** The administrator of the organization. */
export const benchAdmin = { email: 'bench@example.test', password: 'not a secret' } as const

export async function startSignalbox(options: SignalboxOptions = {}): Promise<Signalbox> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const [port, ucentralPort, edgePort] = [await freePort(), await freePort(), await freePort()]
  const netconfPort = options.netconf === true ? await freePort() : null
  const start = (): Promise<Child> => startServer({ dataDir, port, ucentralPort, edgePort, netconfPort }, options)
  let child = await start()
  const url = child.match[1] ?? ''
  const key = (await readFile(join(dataDir, 'operator.key'), 'utf8')).trim()
  const operate = caller(url, `Operator ${key}`)
  const made = (await operate('POST', '/operator/v1/bootstrap', {
    ...benchAdmin,
    org: 'Bench',
  })) as { readonly org_id: string; readonly api_token: string }
  const authorization = `Token ${made.api_token}`
  return {
    url,
    get pid() {
      return child.pid
    },
    ucentralPort,
    edgePort,
    netconfPort,
    dataDir,
    orgId: made.org_id,
    authorization,
    call: caller(url, authorization),
    operate,
    async ask(message) {
      const answer = child.nextMessage()
      child.send(message)
      return answer
    },
    tell: (message) => child.send(message),
    callAs: (other) => caller(url, other),
    async restart(pauseMs) {
      await child.stop()
      await delay(pauseMs)
      child = await start()
    },
    async crash() {
      await child.kill()
      child = await start()
    },
    async stop() {
      await child.stop()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

type ServerPlace = Pick<Signalbox, 'dataDir' | 'ucentralPort' | 'edgePort' | 'netconfPort'> & { readonly port: number }

function startServer(
  { dataDir, port, ucentralPort, edgePort, netconfPort }: ServerPlace,
  { program = server, onLog, env = {}, imports = [] }: SignalboxOptions,
): Promise<Child> {
  return startChild({
    args: [...imports.flatMap((module) => ['--import', module]), program],
    env: {
      SIGNALBOX_DATA_DIR: dataDir,
      SIGNALBOX_PORT: String(port),
      SIGNALBOX_UCENTRAL_PORT: String(ucentralPort),
      SIGNALBOX_EDGE_PORT: String(edgePort),
      ...(netconfPort !== null && { SIGNALBOX_NETCONF_PORT: String(netconfPort) }),
      SIGNALBOX_LOG_LEVEL: onLog === undefined ? 'warn' : 'debug',
      // The rate limit of a token is not part of the measurement.
      SIGNALBOX_REQUESTS_PER_HOUR: '1000000000',
      ...env,
    },
    ready: /^signalbox ready (\S+)$/,
    ...(onLog !== undefined && { onErrorLine: (line) => line.startsWith('{') && onLog(JSON.parse(line) as LogLine) }),
  })
}

function caller(url: string, authorization: string): Call {
  return async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
}

/** Returns a port that is free now. The server could choose a free one itself, but would not report which. */
async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
