import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startSmtp } from '../support/peers/smtp.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'

it('a mail that a stop interrupts is sent by the next start', { timeout: 120_000 }, async () => {
  const dataDir = await temporaryDir()
  let asked = false
  const silent = createServer((socket) => {
    asked = true
    onTestFinished(() => void socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const first = await startServerProcess({ dataDir, env: { SIGNALBOX_SMTP_URL: `smtp://127.0.0.1:${port}` } })
  const person = { first_name: 'Ada', last_name: 'L', org_name: 'Engines' }
  const { status } = await fetch(`${first.url}/api/v1/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ada@example.test', password: 'a horse of another colour', ...person }),
  })
  expect(status).toBe(200)
  await waitUntil('the mail to be under way', () => asked)
  await first.kill('SIGTERM')
  const smtp = await startSmtp()
  onTestFinished(() => smtp.close())
  await startServerProcess({ dataDir, env: { SIGNALBOX_SMTP_URL: smtp.url } })
  await waitUntil('the mail', () => smtp.mails.length > 0)
  expect(smtp.mails[0]?.to).toMatchObject([{ address: 'ada@example.test' }])
})
