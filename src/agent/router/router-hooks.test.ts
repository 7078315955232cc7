import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { afterFile } from '../../../test/support/after-file.ts'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { js, quietParts } from '../../../test/support/hook-parts.ts'
import { hookRouter, readRouterHooks } from './router-hooks.ts'
import type { CommandLine } from '../hooks/run-hook.ts'
import { type State, openState } from '../state.ts'

let folder: string
let state: State
beforeAll(async () => {
  folder = await temporaryDir(afterFile)
  state = await openState(folder)
})

/** A command that appends its last arguments to a file of the test. */
const notes = (name: string): CommandLine =>
  js(`require('fs').appendFileSync(${JSON.stringify(join(folder, name))}, process.argv.slice(1).join(' ') + ';')`)
const noted = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')

const version = js(`console.log(' 6.2.0 ')`)
const nodes = ['node0', 'node1'] as const

describe('the commands of an operator', () => {
  test('report the version of the firmware', async () => {
    expect(await hookRouter({ version }, quietParts(state)).version()).toBe('6.2.0')
  })

  test.each([
    ['fails', js(`console.log('6.2.0'); process.exit(3)`), 'ended with 3 and printed no version'],
    ['prints nothing', js(''), 'ended with 0 and printed no version'],
    ['is missing', ['/nonexistent/program'] as const, '/nonexistent/program ended with no start'],
  ])('give no version where the command %s', async (_, command, reason) => {
    await expect(hookRouter({ version: command }, quietParts(state)).version()).rejects.toThrow(reason)
  })

  test('get the image and its version as their last arguments, and no shell reads them', async () => {
    const router = hookRouter({ version, install: notes('install') }, quietParts(state))
    await router.install({ path: '/tmp/x y', version: '6.2.0; touch /tmp/x $(id)' })
    expect(await noted('install')).toBe('/tmp/x y 6.2.0; touch /tmp/x $(id);')
  })

  test('reboot the router, or the node that is their last argument', async () => {
    const router = hookRouter(
      { version, reboot: notes('reboot'), reboot_node: notes('reboot-node'), nodes },
      quietParts(state),
    )
    await router.reboot(null, 'c1')
    await router.reboot('node1', 'c1')
    expect([await noted('reboot'), await noted('reboot-node')]).toEqual([';', 'node1;'])
  })

  test('that fail are reported with their last words', async () => {
    const burns = js(`console.error('it burns'); process.exit(4)`)
    const router = hookRouter({ version, install: burns, reboot: burns }, quietParts(state))
    await expect(router.install({ path: '/tmp/x', version: '1' })).rejects.toThrow('ended with 4: it burns')
    await expect(router.reboot(null, 'c1')).rejects.toThrow('ended with 4: it burns')
  })

  test('decide which methods and nodes the agent announces', () => {
    const [install, reboot] = [js(''), js('')]
    expect(hookRouter({ version, nodes }, quietParts(state))).toMatchObject({ methods: [], nodes: [] })
    expect(hookRouter({ version, install }, quietParts(state)).methods).toEqual([])
    expect(hookRouter({ version, reboot }, quietParts(state)).methods).toEqual(['restart'])
    expect(hookRouter({ version, install, reboot }, quietParts(state)).methods).toEqual([
      'restart',
      'stage',
      'activate',
    ])
    expect(hookRouter({ version, reboot, reboot_node: js(''), nodes }, quietParts(state)).nodes).toEqual(nodes)
  })

  test('that are missing execute nothing', async () => {
    const router = hookRouter({ version }, quietParts(state))
    await expect(router.install({ path: '/tmp/x', version: '1' })).rejects.toThrow('No install is configured')
    await expect(router.reboot(null, 'c1')).rejects.toThrow('No reboot is configured on the router')
    await expect(router.reboot('node0', 'c1')).rejects.toThrow('No reboot_node is configured on the router')
  })
})

describe('the file of commands', () => {
  const write = async (content: unknown): Promise<string> => {
    const path = join(folder, 'hooks.json')
    await writeFile(path, JSON.stringify(content))
    return path
  }

  test('is read where each command is a program with its arguments', async () => {
    const hooks = { version, install: ['/usr/local/bin/install', '-y'], reboot: ['/sbin/reboot'], nodes: ['node0'] }
    expect(await readRouterHooks(await write(hooks))).toEqual(hooks)
  })

  test.each([
    [null, 'must be an object'],
    [{}, 'version must be a list of texts'],
    [{ version: 'show version' }, 'version must be a list of texts'],
    [{ version, install: [] }, 'install must be a list of texts'],
    [{ version, reboot: ['reboot', 1] }, 'reboot must be a list of texts'],
    [{ version, reboot_node: '/sbin/reboot' }, 'reboot_node must be a list of texts'],
    [{ version, rebot: ['reboot'] }, 'rebot is unknown; known are version, install, reboot'],
    [{ version, nodes: 'node0' }, 'nodes must be a list of node0 and node1'],
    [{ version, nodes: ['node2'] }, 'nodes must be a list of node0 and node1'],
  ])('%j is refused with the name of the member', async (content, reason) => {
    await expect(readRouterHooks(await write(content))).rejects.toThrow(reason)
  })
})
