import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DeviceState } from '../../src/simulator/ucentral/device.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { readJournal } from '../../src/simulator/journal.ts'
import { builtProgram } from '../../test/support/servers/built-program.ts'

/** The speed of the simulated world: see `npm run simulate -- --help`. */
export interface FleetPace {
  readonly timeScale: number
  readonly downloadBytesPerS: number
  readonly bootMs?: number
  readonly flashMs?: number
  readonly startsPerS?: number
}

/** Simulated devices in a separate process, over mutual TLS. Their state survives a restart of the process. */
export interface FleetProcess {
  /** Starts the process with these devices and waits until each has connected once. */
  start(devices: readonly PlannedDevice[]): Promise<void>
  stop(): Promise<void>
  /** The devices' own records, by MAC; a device without any record yet is missing. */
  journal(): ReadonlyMap<string, DeviceState>
  readonly journalFile: string
  /** The id of the running process. */
  readonly pid: number
}

/** The server to which the devices connect. */
interface FleetServer {
  readonly dataDir: string
  readonly ucentralPort: number
}

/** @param niceness How much lower the priority of the devices is than that of this process. */
export function createFleetProcess(folder: string, server: FleetServer, pace: FleetPace, niceness = 0): FleetProcess {
  const stateDir = join(folder, 'fleet')
  const journalFile = join(stateDir, 'devices.jsonl')
  let child: ChildProcess | null = null
  return {
    journalFile,
    get pid() {
      return child?.pid ?? 0
    },
    async start(devices) {
      const file = join(folder, 'fleet.json')
      await writeFile(file, JSON.stringify(devices))
      const options = {
        fleet: file,
        gateway: `127.0.0.1:${server.ucentralPort}`,
        ca: join(server.dataDir, 'device-ca'),
        'state-dir': stateDir,
        'time-scale': pace.timeScale,
        'download-bytes-per-s': pace.downloadBytesPerS,
        'boot-ms': pace.bootMs,
        'flash-ms': pace.flashMs,
        'starts-per-s': pace.startsPerS,
      }
      const args = Object.entries(options).flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name}`, String(value)],
      )
      // `nice` lowers the priority of all threads; the process itself could lower only that of one.
      child = spawn('nice', ['-n', String(niceness), process.execPath, await builtProgram('simulator'), ...args], {
        env: withoutMallocSettings(process.env),
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      })
      await untilReady(child)
    },
    async stop() {
      if (child === null || child.exitCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGINT')
      await exited
      child = null
    },
    journal: () => readJournal(journalFile),
  }
}

/** The settings of the runner trade the server's speed for memory; real devices have memory of their own. */
function withoutMallocSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('MALLOC_')))
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error('unreachable: its output is a pipe')
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('simulator ready')) resolve()
    })
    child.once('exit', (code, signal) => reject(new Error(`the simulator ended (${signal ?? code})`)))
  })
}
