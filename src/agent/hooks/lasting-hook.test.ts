import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { js, quietParts } from '../../../test/support/hook-parts.ts'
import { hookAppliance } from './hooks.ts'
import { createLastingHooks } from './lasting-hook.ts'
import { hookRouter } from '../router/router-hooks.ts'
import type { CommandLine } from './run-hook.ts'
import { openState } from '../state.ts'

async function newPlace() {
  const folder = await temporaryDir()
  const path = join(folder, 'notes')
  await writeFile(path, '')
  return {
    state: await openState(folder),
    noted: async () => (await readFile(path, 'utf8')).trim().split(' '),
    /** Notes its begin and its end; in between it works for a while. */
    slow: js(`const note = (what) => require('fs').appendFileSync(${JSON.stringify(path)}, what + ' ')
      note('begin'); setTimeout(() => note('end'), 300)`),
  }
}

type Place = Awaited<ReturnType<typeof newPlace>>

/** The second call simulates another process: it knows the first one only from the disk. */
test.each<[string, (place: Place) => Promise<unknown>]>([
  ['of a service', ({ state, slow }) => hookAppliance(servicesWith(slow), quietParts(state)).control('a', 'restart')],
  [
    'of access points',
    ({ state, slow }) => hookAppliance({ services: {}, disconnect_aps: slow }, quietParts(state)).disconnectAps([]),
  ],
  [
    'of the configuration',
    ({ state, slow }) => hookAppliance({ services: {}, configure: slow }, quietParts(state)).configure({}),
  ],
  [
    'of a distribution',
    ({ state, slow }) => hookAppliance({ services: {}, distro_upgrade: slow }, quietParts(state)).upgradeDistro('a'),
  ],
  [
    'of a router',
    ({ state, slow }) => hookRouter({ version: slow, reboot: slow }, quietParts(state)).reboot(null, 'c1'),
  ],
])('a command %s that outlives the agent never overlaps with its repetition', async (_title, run) => {
  const place = await newPlace()
  const first = run(place)
  while (!(await place.noted()).includes('begin')) await wait(5)
  await Promise.all([first, run(place)])
  expect(await place.noted()).toEqual(['begin', 'end', 'begin', 'end'])
})

function servicesWith(restart: CommandLine) {
  const nothing = js('')
  return { services: { a: { version: nothing, status: nothing, start: nothing, stop: nothing, restart } } }
}

test('what a killed program has started is waited for', async () => {
  const { state, slow, noted } = await newPlace()
  const [program, ...args] = slow
  const leader = js(`require('child_process').spawn(${JSON.stringify(program)}, ${JSON.stringify(args)})`)
  const child = spawn(leader[0], leader.slice(1), { detached: true, stdio: 'ignore' })
  await new Promise<void>((resolve) => {
    // The process of this work is killed before it ends.
    void createLastingHooks(quietParts(state)).guard({ subject: 'packages' }, async (onStart) => {
      await onStart(child.pid ?? 0)
      resolve()
      await new Promise(() => {})
    })
  })
  while (!(await noted()).includes('begin')) await wait(5)
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  await createLastingHooks(quietParts(state)).run({ subject: 'packages' }, slow)
  expect(await noted()).toEqual(['begin', 'end', 'begin', 'end'])
})

test('a program that outlives the agent is not killed because the clock was set while it ran', async () => {
  const { state, slow, noted } = await newPlace()
  const run = () => createLastingHooks(quietParts(state)).run({ subject: 'packages' }, slow)
  const first = run()
  while (!(await noted()).includes('begin')) await wait(5)
  const hook = JSON.parse((await state.read('running-hook.json')) ?? '') as { began_ms: number }
  await state.write('running-hook.json', JSON.stringify({ ...hook, began_ms: hook.began_ms - 24 * 3_600_000 }))
  await Promise.all([first, run()])
  expect(await noted()).toEqual(['begin', 'end', 'begin', 'end'])
})

test('a program whose start can not be recorded does not begin', async () => {
  const { state, slow, noted } = await newPlace()
  const full = { ...state, write: () => Promise.reject(new Error('ENOSPC')) }
  await expect(createLastingHooks(quietParts(full)).run({ subject: 'packages' }, slow)).rejects.toThrow('ENOSPC')
  expect(await noted()).toEqual([''])
})

test('the other node of a router reboots once for a command, and again for the next one', async () => {
  const { state, slow, noted } = await newPlace()
  const restart = (id: string) =>
    hookRouter({ version: slow, reboot_node: slow, nodes: ['node0', 'node1'] }, quietParts(state)).reboot('node1', id)
  const first = restart('c1')
  while (!(await noted()).includes('begin')) await wait(5)
  await restart('c1')
  expect(await noted()).toEqual(['begin', 'end'])
  await first
  await restart('c2')
  expect(await noted()).toEqual(['begin', 'end', 'begin', 'end'])
})
