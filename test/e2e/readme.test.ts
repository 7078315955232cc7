import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startServerProcess } from '../support/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)

it('runs the commands of the README', { timeout: 120_000 }, async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, script] = /<!-- tested: test\/e2e\/readme\.test\.ts[^\n]*-->\n```sh\n(.*?)```/s.exec(readme) ?? []
  const folder = await temporaryDir()
  await startServerProcess({ dataDir: join(folder, 'data'), demo: true })
  const commands = (script ?? '').replaceAll('\\\n', ' ').replaceAll(/^curl.*$/gm, '$&; echo')
  const { stdout } = await run('sh', ['-e', '-c', commands], {
    cwd: folder,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
  })
  const [inventory, created, listed, ...rest] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
  expect(rest).toEqual([])
  expect(inventory).toHaveLength(3)
  expect(created).toMatchObject({ strategy: 'canary', target_version: '3.2.0', upgrades: [{}, {}, {}] })
  expect(listed).toMatchObject([{ id: (created as { id: string }).id }])
})
