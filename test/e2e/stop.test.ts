import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { chown, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { findNobody } from '../../src/platform/embedded-postgres/account.ts'
import { copyPreparedData } from '../support/database/prepared-data.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { startFirstServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { serverEnv } from '../support/servers/spawn-server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Some tests create a database, which takes long on a busy machine. */
const DATABASE_MADE_MS = 30_000
vi.setConfig({ testTimeout: 2 * DATABASE_MADE_MS })

/** An orderly stop removes these: the server's address and the database's lock. */
const tracesOfRun = (dataDir: string): string[] =>
  ['server.json', 'postgres/cluster/postmaster.pid'].filter((name) => existsSync(join(dataDir, name)))

it('stops gracefully when Ctrl-C arrives twice, from the terminal and from the runner', async () => {
  const dataDir = join(await temporaryDir(), 'data')
  const { child } = await startServerProcess({ dataDir })
  expect(tracesOfRun(dataDir)).toHaveLength(2)
  let printed = ''
  child.stdout?.on('data', (chunk) => (printed += String(chunk)))
  const exited = once(child, 'close')
  child.kill('SIGINT')
  child.kill('SIGINT')
  const again = setInterval(() => child.kill('SIGINT'), 10)
  onTestFinished(() => clearInterval(again))
  expect(await exited).toEqual([0, null])
  expect(printed).toBe('signalbox stopping\nsignalbox stopped\n')
  expect(tracesOfRun(dataDir)).toEqual([])
})

it('stops gracefully when it is signalled during its start', async () => {
  const dataDir = join(await temporaryDir(), 'data')
  const program = await builtProgram('server')
  const child = spawn(process.execPath, [program], { env: serverEnv(dataDir), stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout.on('data', (chunk) => (printed += String(chunk)))
  const exited = once(child, 'exit')
  const lock = join(dataDir, 'postgres/cluster/postmaster.pid')
  const pid = await waitUntil(
    'its database runs',
    // The file is briefly empty, which yields no number.
    () => (existsSync(lock) && Number.parseInt(readFileSync(lock, 'utf8'))) || null,
    DATABASE_MADE_MS,
  )
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/)
  expect(tracesOfRun(dataDir)).toEqual([])
  expect(printed).not.toContain('signalbox ready')
})

it.skipIf(process.platform !== 'linux')('starts and stops gracefully where nothing can be printed', async () => {
  const dataDir = join(await temporaryDir(), 'data')
  await copyPreparedData(dataDir)
  // Each write fails, as to a file on a full disk.
  const full = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(full))
  const env = { ...serverEnv(dataDir), SIGNALBOX_LOG_LEVEL: 'debug' }
  const child = spawn(process.execPath, [await builtProgram('server')], { env, stdio: ['ignore', full, full] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  await waitUntil(
    'it runs',
    () => child.exitCode !== null || existsSync(join(dataDir, 'server.json')),
    DATABASE_MADE_MS,
  )
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
  expect(tracesOfRun(dataDir)).toEqual([])
})

it.skipIf(process.getuid?.() !== 0)("leaves no file that belongs to root in another user's folder", async () => {
  const dataDir = await temporaryDir()
  const { uid, gid } = await findNobody()
  await chown(dataDir, uid, gid)
  const server = await startFirstServerProcess({ dataDir })
  const ownersOf = async (names: readonly string[]): Promise<(readonly [string, number])[]> =>
    Promise.all(names.map(async (name) => [name, (await stat(join(dataDir, name))).uid] as const))
  const made = [...(await readdir(dataDir)), 'device-ca/ca.key', 'firmware/incoming']
  expect(await ownersOf(made)).toEqual(made.map((name) => [name, uid]))
  await writeFile(join(dataDir, 'firmware/image'), '')
  await server.kill('SIGTERM')
  const kept = ['firmware/image', 'secret.key', 'postgres']
  expect(await ownersOf(kept)).toEqual(kept.map((name) => [name, uid]))
})
