import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { createDownloads } from '../downloads/download.ts'
import type { Point } from '../points.ts'
import { createProgressFeed } from '../downloads/progress.ts'
import type { Executor } from '../role.ts'
import { dryRunRouter, readRouterDryRun } from './router-dry-run.ts'
import { createRouterRole } from './router-role.ts'
import { openState } from '../state.ts'

const image = Buffer.from('an image')
const sha256 = createHash('sha256').update(image).digest('hex')
const artifact = { uri: 'http://127.0.0.1:1/never-asked', size: image.length, sha256 }
const idOf = (number: number): string => `0193a1c0-0000-7000-8000-00000000000${number}`

/** A router in a dry run that has the image, and an agent that is killed at the points that `kills` gets. */
async function newRouter() {
  const folder = await temporaryDir()
  await mkdir(join(folder, 'artifacts'))
  await writeFile(join(folder, 'artifacts', sha256), image)
  const state = await openState(folder)
  const kills = new Set<Point>()
  const onPoint = (point: Point): void => {
    if (kills.delete(point)) throw new Error('killed')
  }
  const { signal } = new AbortController()
  const downloads = createDownloads({ folder: join(folder, 'artifacts'), ca: [], publicKey: null, signal, onPoint })
  const feed = createProgressFeed(() => 0)
  const parts = { state, folder, downloads, upload: async () => {}, feed, log: () => {}, onPoint }
  const router = await dryRunRouter(state, { nodes: ['node0', 'node1'] })
  const { executor } = createRouterRole(parts, router, { mac: '020000000001', model: 'SSR120', serial: 'S1' })
  return { executor, kills, done: async () => (await readRouterDryRun(state))?.done }
}

const stage = (executor: Executor): Promise<string> =>
  executor.run({ method: 'stage', params: { command_id: idOf(1), version: '6.2.0', artifact } })
const activate = (executor: Executor, number: number): Promise<string> =>
  executor.run({ method: 'activate', params: { command_id: idOf(number), version: '6.2.0', sha256 } })

test('a second command for an image that is installed installs and reboots no second time', async () => {
  const { executor, done } = await newRouter()
  await stage(executor)
  expect(await activate(executor, 2)).toBe('installed 6.2.0, and reboots')
  expect(await activate(executor, 3)).toBe('runs 6.2.0')
  expect(await activate(executor, 2)).toBe('runs 6.2.0')
  expect(await done()).toEqual(['install 6.2.0 of 8 bytes', 'reboot'])
})

test.each([2, 3])(
  'a router whose agent was killed before it rebooted is not installed again by command %i',
  async (next) => {
    const { executor, kills, done } = await newRouter()
    await stage(executor)
    kills.add('reboot recorded')
    await expect(activate(executor, 2)).rejects.toThrow('killed')
    if (next === 3) await expect(activate(executor, 2)).resolves.toContain('reboots')
    await activate(executor, next)
    expect(await done()).toEqual(['install 6.2.0 of 8 bytes', 'reboot'])
  },
)

test('an image that was staged again is installed again', async () => {
  const { executor, done } = await newRouter()
  for (const number of [2, 3]) {
    await stage(executor)
    await activate(executor, number)
  }
  expect((await done())?.filter((what) => what.startsWith('install'))).toHaveLength(2)
  await expect(
    executor.run({ method: 'activate', params: { command_id: idOf(4), version: '6.3.0', sha256 } }),
  ).rejects.toThrow('The router has not downloaded 6.3.0')
})

test('the other node reboots once for a command whose agent was killed, and again for another one', async () => {
  const { executor, kills, done } = await newRouter()
  const restart = (number: number): Promise<string> =>
    executor.run({ method: 'restart', params: { command_id: idOf(number), node: 'node1' } })
  kills.add('reboot begun')
  await expect(restart(1)).rejects.toThrow('killed')
  expect(await restart(1)).toBe('node1 reboots')
  expect(await done()).toEqual(['reboot node1'])
  await restart(2)
  expect(await done()).toEqual(['reboot node1', 'reboot node1'])
})
