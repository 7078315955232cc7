import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadDeviceCa } from '../../src/gateway/certificates/device-ca.ts'
import { builtProgram } from '../support/servers/built-program.ts'
import { type Peer, messagesOf, startPeer } from './peer.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)

let program: string
beforeAll(async () => {
  program = await builtProgram('simulator')
})

let folder: string
let peer: Peer
const children: ChildProcess[] = []

beforeEach(async () => {
  folder = await temporaryDir()
  peer = await startPeer(await loadDeviceCa(folder))
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await peer.stop()
})

/** Starts the command against the peer, and resolves with the first line of its output. */
async function simulate(...args: readonly string[]): Promise<{ child: ChildProcess; line: string }> {
  return start(['--gateway', `127.0.0.1:${peer.port}`, '--ca', join(folder, 'device-ca'), ...args], {})
}

async function start(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<{ child: ChildProcess; line: string }> {
  const env = { ...process.env, ...settings }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  children.push(child)
  if (child.stdout === null) throw new Error('no output')
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, line: String(line) }
}

async function failure(args: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const failed = await run(process.execPath, [program, ...args], { env: { ...process.env, ...settings } }).catch(
    (error: { stderr: string; code: number }) => error,
  )
  expect(failed).toMatchObject({ code: 1 })
  return failed.stderr
}

describe('simulate', () => {
  it('reports when all devices have connected, and ends with its parent', async () => {
    const report = join(folder, 'report.jsonl')
    const { child, line } = await simulate('--count', '5', '--type', 'switch', '--members', '2', '--report', report)
    expect(line).toBe('simulator ready 5 devices')
    expect(new Set(peer.sessions.map((session) => session.commonName)).size).toBe(5)
    expect((await readFile(report, 'utf8')).trim().split('\n')).toHaveLength(5)
    const ended = once(child, 'exit')
    child.disconnect()
    expect(await ended).toEqual([0, null])
  })

  it('takes the port and the data folder from the settings of the server', async () => {
    const settings = { SIGNALBOX_UCENTRAL_PORT: String(peer.port), SIGNALBOX_DATA_DIR: folder }
    const { line } = await start(['--count', '1'], settings)
    expect(line).toBe('simulator ready 1 devices')
    expect(peer.sessions).toHaveLength(1)
    expect(await failure([], { ...settings, SIGNALBOX_UCENTRAL_PORT: '0' })).toMatch(/^simulate: .*--gateway/)
    expect(await failure([], { ...settings, SIGNALBOX_UCENTRAL_PORT: 'x' })).toMatch(/^simulate: .*_UCENTRAL_PORT/)
    // A Junos device, or a typing error: the simulation would run without the fault.
    expect(await failure(['--count', '1', '--flap', '02:bb:00:00:00:02'], settings)).toBe(
      'simulate: --flap names 02bb00000002, which is no uCentral device of the fleet\n',
    )
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('closes its connections and ends on %s', async (signal) => {
    const { child } = await simulate('--count', '1')
    const ended = once(child, 'exit')
    child.kill(signal)
    expect(await ended).toEqual([0, null])
    await peer.until(() => peer.sessions.every((session) => session.closed))
  })

  it('reads a fleet from a file, and its state from a folder after kill -9', async () => {
    const fleet = join(folder, 'fleet.json')
    const device = { mac: '02:00:00:00:A0:01', serial: 'S', model: 'EAP101', type: 'ap', firmware: '1.0.0' }
    await writeFile(fleet, JSON.stringify([device]))
    const args = ['--fleet', fleet, '--state-dir', join(folder, 'state')]
    const { child } = await simulate(...args)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await writeFile(fleet, JSON.stringify([{ ...device, firmware: '9.9.9' }]))
    await simulate(...args)
    await peer.until(() => peer.sessions.length === 2)
    await peer.until(() => peer.sessions.every((session) => messagesOf(session, 'connect').length === 1))
    const connects = peer.sessions.map((session) => messagesOf(session, 'connect')[0])
    expect(connects).toMatchObject([
      { firmware: '1.0.0', reason: 'coldboot' },
      { firmware: '1.0.0', reason: 'socket' },
    ])
  })

  it.each([
    [['--count', '0'], /--count.*whole number from 1/],
    [['--count', '2', '--fleet', 'x'], /--count.*--fleet/],
    [['--gateway', 'nowhere'], /--gateway.*HOST:PORT/],
    [['--slow', '200%'], /--slow.*more than all/],
    [['--time-scale', '0'], /--time-scale.*above 0/],
    [['--ca', '/nonexistent'], /device CA: \/nonexistent does not contain/],
    [['--fleet', '/nonexistent.json'], /nonexistent\.json/],
  ])('ends with one line about an invalid %j', async (args, message) => {
    const text = await failure(args)
    expect(text).toMatch(message)
    expect(text.trim().split('\n')).toHaveLength(1)
  })
})
