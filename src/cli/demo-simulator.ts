import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { AppError } from '../platform/errors.ts'
import { type DemoDevice, demoBackupVersion } from './demo-fleet.ts'

export interface SimulatorOptions {
  readonly fleet: readonly DemoDevice[]
  /** The version of a new fleet; later runs continue with the versions of the devices. */
  readonly firmware: string
  readonly ucentralPort: number
  readonly netconfPort: number
  /** The configuration commands of Junos devices. */
  readonly junosCommands: string
  readonly dataDir: string
  /** How long devices take, in percent of real ones. */
  readonly timePercent: number
}

const program = fileURLToPath(new URL('../bin/simulator.ts', import.meta.url))

/**
 * Starts the simulator as a separate process, which ends with this one, and waits until every device has connected
 * once.
 * @throws AppError unavailable when it ends before that.
 */
export async function runSimulator({
  fleet,
  firmware,
  dataDir,
  timePercent,
  ...options
}: SimulatorOptions): Promise<void> {
  const fleetFile = join(dataDir, 'demo-fleet.json')
  const junosFile = join(dataDir, 'demo-junos.conf')
  const planned = fleet.map(({ name: _, claim_code: __, ...device }) => ({
    ...device,
    firmware,
    ...(device.protocol === 'junos' && { backup: demoBackupVersion }),
  }))
  await writeFile(fleetFile, JSON.stringify(planned))
  await writeFile(junosFile, options.junosCommands, { mode: 0o600 })
  const args = [
    '--fleet',
    fleetFile,
    '--gateway',
    `127.0.0.1:${options.ucentralPort}`,
    '--netconf',
    `127.0.0.1:${options.netconfPort}`,
    '--junos-config',
    junosFile,
    '--ca',
    join(dataDir, 'device-ca'),
    '--state-dir',
    join(dataDir, 'demo-fleet'),
    '--time-scale',
    String(timePercent / 100),
  ]
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  if (child.stdout === null) throw new Error('unreachable: its output is a pipe')
  const lines = createInterface({ input: child.stdout })
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.startsWith('simulator ready')) resolve()
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const why = `the simulator ended (${signal ?? code})`
      reject(new AppError('unavailable', why))
      // Once running, the service goes on without its fleet. A fleet that ends together with it needs no message.
      if (code !== 0) process.stderr.write(`signalbox: ${why}\n`)
    })
  })
}
