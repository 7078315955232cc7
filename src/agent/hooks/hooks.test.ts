import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { afterFile } from '../../../test/support/after-file.ts'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { js, quietParts } from '../../../test/support/hook-parts.ts'
import { NotExecuted } from '../appliance.ts'
import { hookAppliance, readHooks } from './hooks.ts'
import { type CommandLine, runHook } from './run-hook.ts'
import { type State, openState } from '../state.ts'

let folder: string
let state: State
beforeAll(async () => {
  folder = await temporaryDir(afterFile)
  state = await openState(folder)
})

/** A command that appends its last argument and its input to a file of the test. */
const notes = (name: string): CommandLine =>
  js(`const fs = require('fs'); const text = fs.readFileSync(0, 'utf8')
    fs.appendFileSync(${JSON.stringify(join(folder, name))}, process.argv.slice(1).join(' ') + text + ';')`)
const noted = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')

const service = {
  version: js(`console.log(' 1.2.3 ')`),
  status: js(''),
  start: js(''),
  stop: js(''),
  restart: js(`console.error('it burns'); process.exit(4)`),
}

describe('the commands of an operator', () => {
  test('report the versions of services and whether they run', async () => {
    const stopped = { ...service, status: js('process.exit(3)') }
    const absent = { ...service, version: ['/nonexistent/program'] as const }
    const appliance = hookAppliance({ services: { a: service, b: stopped, c: absent } }, quietParts(state))
    expect(await appliance.services()).toEqual([
      { name: 'a', version: '1.2.3', state: 'running' },
      { name: 'b', version: '1.2.3', state: 'stopped' },
      { name: 'c', version: null, state: 'running' },
    ])
  })

  test('that fail are reported with their last words', async () => {
    await expect(
      hookAppliance({ services: { a: service } }, quietParts(state)).control('a', 'restart'),
    ).rejects.toThrow(`${process.execPath} ended with 4: it burns`)
  })

  test('get names as one argument, whatever they contain, and no shell reads them', async () => {
    const appliance = hookAppliance(
      { services: {}, port_down: notes('ports'), port_up: notes('ports') },
      quietParts(state),
    )
    await appliance.bouncePorts(['0; touch /tmp/x $(id)'], 0)
    expect(await noted('ports')).toBe('0; touch /tmp/x $(id);0; touch /tmp/x $(id);')
  })

  test('bring every port up again, even if one could not be taken down', async () => {
    const appliance = hookAppliance(
      { services: {}, port_down: js('process.exit(1)'), port_up: notes('up') },
      quietParts(state),
    )
    await expect(appliance.bouncePorts(['0', '1'], 0)).rejects.toThrow('ended with 1')
    expect((await noted('up')).split(';').toSorted()).toEqual(['', '0', '1'])
  })

  test('get documents on their input', async () => {
    const appliance = hookAppliance(
      { services: {}, disconnect_aps: notes('aps'), configure: notes('configuration') },
      quietParts(state),
    )
    await appliance.disconnectAps(['5c5b350e0001'])
    await appliance.configure({ ntp_servers: ['192.0.2.1'] })
    expect(await noted('aps')).toBe('{"macs":["5c5b350e0001"]};')
    expect(await noted('configuration')).toBe('{"ntp_servers":["192.0.2.1"]};')
  })

  test('get the package and its version, or the codename, as their last arguments', async () => {
    const services = { a: { ...service, install: notes('packages') } }
    const appliance = hookAppliance(
      { services, distro_download: notes('distro'), distro_upgrade: notes('distro') },
      quietParts(state),
    )
    await appliance.install('a', { path: '/tmp/x y', version: '1.2~rc1' })
    await appliance.downloadDistro('next')
    await appliance.upgradeDistro('next')
    expect([await noted('packages'), await noted('distro')]).toEqual(['/tmp/x y 1.2~rc1;', 'next;next;'])
  })

  test('that never finish are killed with what they have started', async () => {
    const sleeps = `require('child_process').spawnSync(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])`
    expect((await runHook(js(sleeps), { timeoutMs: 300 })).code).toBe('SIGKILL')
  })

  test('end when they have ended, even if a service that they have started lives on', async () => {
    const daemon = `const child = require('child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 5000)'],
      { stdio: 'inherit', detached: true }); child.unref(); console.log(child.pid)`
    const { code, output } = await runHook(js(daemon))
    process.kill(Number(output.trim()), 'SIGKILL')
    expect(code).toBe(0)
  })

  test('decide which methods the agent announces', () => {
    expect(hookAppliance({ services: {} }, quietParts(state)).methods).toEqual(['configure', 'stage'])
    const half = { services: { a: service }, port_down: js('') }
    expect(hookAppliance(half, quietParts(state)).methods).toEqual(['service.control', 'configure', 'stage'])
    const all = { ...half, port_up: js(''), disconnect_aps: js('') }
    const kept = ['configure', 'stage']
    expect(hookAppliance(all, quietParts(state)).methods).toEqual([
      'service.control',
      'port.bounce',
      'aps.disconnect',
      ...kept,
    ])
    const upgrades = { services: { a: service, b: { ...service, install: js('') } }, distro_upgrade: js('') }
    expect(hookAppliance(upgrades, quietParts(state)).methods).toEqual([
      'service.control',
      ...kept,
      'service.upgrade',
      'distro.upgrade',
    ])
    // A download without an installation would be of no use.
    const downloads = { services: {}, distro_download: js('') }
    expect(hookAppliance(downloads, quietParts(state)).methods).toEqual(kept)
    expect(hookAppliance({ ...downloads, distro_upgrade: js('') }, quietParts(state)).methods).toEqual([
      ...kept,
      'distro.stage',
      'distro.upgrade',
    ])
  })

  test('that are missing execute nothing', async () => {
    const appliance = hookAppliance({ services: {} }, quietParts(state))
    await expect(appliance.control('constructor', 'stop')).rejects.toThrow(NotExecuted)
    await expect(appliance.bouncePorts(['0'], 0)).rejects.toThrow('No port_down is configured on the appliance')
    await expect(appliance.disconnectAps([])).rejects.toThrow(NotExecuted)
    await expect(appliance.install('a', { path: '/tmp/x', version: '1' })).rejects.toThrow('No install is configured')
    await expect(appliance.upgradeDistro('next')).rejects.toThrow('No distro_upgrade is configured on the appliance')
  })
})

describe('the file of commands', () => {
  const write = async (content: unknown): Promise<string> => {
    const path = join(folder, 'hooks.json')
    await writeFile(path, JSON.stringify(content))
    return path
  }

  test('is read where each command is a program with its arguments', async () => {
    const hooks = { services: { tunterm: service }, configure: ['/usr/local/bin/apply'] }
    expect(await readHooks(await write(hooks))).toEqual(hooks)
  })

  test.each([
    [{}, 'services must be an object'],
    [{ services: { a: { ...service, stop: 'systemctl stop a' } } }, 'services.a.stop must be a list of texts'],
    [{ services: { a: { version: ['x'] } } }, 'services.a.status must be a list of texts'],
    [{ services: {}, port_up: [] }, 'port_up must be a list of texts'],
    [{ services: { a: { ...service, install: [] } } }, 'services.a.install must be a list of texts'],
    [{ services: {}, distro_upgrade: 'x' }, 'distro_upgrade must be a list of texts'],
    [{ services: {}, port_dwon: ['x'] }, 'port_dwon is unknown; known are services, port_down, port_up'],
    [{ services: { a: { ...service, instal: ['x'] } } }, 'services.a.instal is unknown'],
  ])('%j is refused with the name of the member', async (content, reason) => {
    await expect(readHooks(await write(content))).rejects.toThrow(reason)
  })

  test('is named where it is not JSON', async () => {
    const path = await write({})
    await writeFile(path, '{"services":')
    await expect(readHooks(path)).rejects.toThrow(`${path} is not valid JSON: `)
  })
})
