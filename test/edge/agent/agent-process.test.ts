import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDir } from '../../support/temporary-dir.ts'

const program = fileURLToPath(new URL('../../../src/bin/agent.ts', import.meta.url))

it('ends when it fails, also where a runner keeps a channel to it', async () => {
  const child = spawn(process.execPath, [program, '--state', await temporaryDir(), '--dry-run'], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [code] = await once(child, 'exit')
  expect(code).toBe(1)
})
