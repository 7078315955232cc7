import { execFile } from 'node:child_process'
import { mkdir, readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryDir } from './temporary-dir.ts'

const program = fileURLToPath(new URL('../../bench/run.ts', import.meta.url))

it('leaves no files of a benchmark, nor those of one that was killed', async () => {
  const folder = await temporaryDir()
  const killed = join(folder, 'signalbox-run-killed')
  await mkdir(join(killed, 'signalbox-bench-1'), { recursive: true })
  await utimes(killed, 0, 0)
  const env = { ...process.env, TMPDIR: folder }
  await expect(promisify(execFile)(process.execPath, [program, 'none'], { env })).rejects.toThrow('NAME one of')
  expect(await readdir(folder)).toEqual([])
})
