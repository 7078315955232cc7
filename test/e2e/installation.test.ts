import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { copyPreparedData } from '../support/database/prepared-data.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { readyUrl, serverEnv } from '../support/servers/spawn-server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What starts a program without any network, not even a connection to the machine itself. */
const WITHOUT_NETWORK = process.getuid?.() === 0 ? ['--net'] : ['--user', '--map-current-user', '--net']

/** Starts a program that may create sockets of these families only, as systemd does: by a filter of its system calls. */
const RESTRICTED = `
import ctypes, errno, os, socket, struct, sys
load, jump, end, allow = 0x20, 0x15, 0x06, 0x7fff0000
families = [getattr(socket, name) for name in sys.argv[1].split()]
call = {'x86_64': 41, 'aarch64': 198}[os.uname().machine]
tests = [(jump, len(families) - place, 0, family) for place, family in enumerate(families)]
filters = [(load, 0, 0, 0), (jump, 0, len(families) + 2, call), (load, 0, 0, 16), *tests,
           (end, 0, 0, 0x50000 | errno.EAFNOSUPPORT), (end, 0, 0, allow)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *one) for one in filters))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(filters), ctypes.addressof(code)))
call = ctypes.CDLL(None).prctl
if call(38, 1, 0, 0, 0) != 0 or call(22, 2, program) != 0: sys.exit('no filter')
os.execvp(sys.argv[2], sys.argv[2:])
`

const works = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0

it.skipIf(!works('systemd-analyze', '--version'))('has a unit that systemd accepts', async () => {
  const unit = await readFile(join(root, 'docs/signalbox.service'), 'utf8')
  const copy = join(await temporaryDir(), 'signalbox.service')
  await writeFile(copy, unit.replaceAll('/opt/signalbox/', root))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', copy], { encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})

it.skipIf(!works('unshare', ...WITHOUT_NETWORK, 'true'))(
  'starts without a network, and stops in order',
  { timeout: 60_000 },
  async () => {
    const dataDir = join(await temporaryDir(), 'data')
    await copyPreparedData(dataDir)
    const child = spawn('unshare', [...WITHOUT_NETWORK, process.execPath, await builtProgram('server')], {
      env: { ...serverEnv(dataDir), SIGNALBOX_LOG_LEVEL: 'error' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    child.stderr.on('data', (chunk) => (said += String(chunk)))
    await readyUrl(child)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect(said).toBe('')
  },
)

it.skipIf(!works('python3', '-c', RESTRICTED, 'AF_UNIX', 'true'))(
  'listens at all addresses with the families of sockets that its unit allows',
  { timeout: 60_000 },
  async () => {
    const dataDir = join(await temporaryDir(), 'data')
    await copyPreparedData(dataDir)
    const unit = await readFile(join(root, 'docs/signalbox.service'), 'utf8')
    const [, families = ''] = /^RestrictAddressFamilies=(.*)$/m.exec(unit) ?? []
    const program = [process.execPath, await builtProgram('server')]
    const child = spawn('python3', ['-c', RESTRICTED, families, ...program], {
      env: { ...serverEnv(dataDir), SIGNALBOX_HOST: '0.0.0.0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await readyUrl(child)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  },
)
