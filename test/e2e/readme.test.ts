import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startServerProcess } from '../support/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const run = promisify(execFile)

/**
 * Runs the commands of a document of the project, beside `data`.
 * @returns The output of each curl command at the start of a line.
 */
async function runCommandsOf(document: string, { demo }: { readonly demo: boolean }): Promise<unknown[]> {
  const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8')
  const [, script] = /<!-- tested: test\/e2e\/readme\.test\.ts[^\n]*-->\n```sh\n(.*?)```/s.exec(text) ?? []
  if (script === undefined) throw new Error(`${document} shows no commands`)
  const folder = await temporaryDir()
  await startServerProcess({ dataDir: join(folder, 'data'), demo })
  const commands = script.replaceAll('\\\n', ' ').replaceAll(/^curl(?:[^\n']|'[^']*')*$/gm, '$&; echo')
  const { stdout } = await run('sh', ['-e', '-c', commands], {
    cwd: folder,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` },
  })
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

it('runs the commands of the README', { timeout: 120_000 }, async () => {
  const [inventory, created, listed, restarted, commands, replaced, ...rest] = await runCommandsOf('README.md', {
    demo: true,
  })
  expect(rest).toEqual([])
  expect(inventory).toHaveLength(3)
  expect(created).toMatchObject({ strategy: 'canary', target_version: '3.2.0', upgrades: [{}, {}, {}] })
  expect(listed).toMatchObject([{ id: (created as { id: string }).id }])
  expect([restarted, replaced]).toEqual([{}, {}])
  expect(commands).toMatchObject([{ kind: 'service', params: { service: 'tunterm', action: 'restart' } }, {}])
})

it('registers with the commands of the operations manual', { timeout: 120_000 }, async () => {
  const [registered, verified, self, ...rest] = await runCommandsOf('docs/operations.md', { demo: false })
  expect(rest).toEqual([])
  expect([registered, verified]).toEqual([{}, {}])
  expect(self).toMatchObject({ email: 'ada@example.com', privileges: [{ org_name: 'Engines', role: 'admin' }] })
})
