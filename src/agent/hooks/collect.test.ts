import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { afterFile } from '../../../test/support/after-file.ts'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { js } from '../../../test/support/hook-parts.ts'
import { collectOutput } from './collect.ts'
import type { CommandLine } from './run-hook.ts'

let folder: string
beforeAll(async () => {
  folder = await temporaryDir(afterFile)
})

const collect = (name: string, command: CommandLine, limits: { maxBytes?: number; timeoutMs?: number } = {}) =>
  collectOutput(command, { path: join(folder, name), maxBytes: 100, timeoutMs: 60_000, ...limits })

test('what a program prints becomes a file that only its user can read', async () => {
  await collect('whole', js(`console.error('busy'); process.stdout.write('x'.repeat(100))`))
  expect(await readFile(join(folder, 'whole'), 'utf8')).toBe('x'.repeat(100))
  expect((await stat(join(folder, 'whole'))).mode & 0o077).toBe(0)
})

test('a program that prints without end is killed at the limit', async () => {
  const endless = js(`const go = () => process.stdout.write('x'.repeat(1000), go); go()`)
  await expect(collect('large', endless)).rejects.toThrow('The support files have more than 100 bytes')
  expect((await stat(join(folder, 'large'))).size).toBeLessThanOrEqual(100)
})

test('a program that hangs is killed, and one that is absent or fails is reported', async () => {
  const hangs = js('setInterval(() => {}, 1000)')
  await expect(collect('hangs', hangs, { timeoutMs: 300 })).rejects.toThrow('did not end within 0.3 s')
  await expect(collect('absent', ['/nonexistent/program'])).rejects.toThrow('ENOENT')
  await expect(collect('fails', js(`console.error('no space'); process.exit(3)`))).rejects.toThrow(
    'ended with 3: no space',
  )
})
