import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { tokenIn } from '../support/peers/mails.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Smtp, startSmtp } from '../support/peers/smtp.ts'
import { waitUntil } from '../support/wait-until.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function startServer(smtpUrl: string): Promise<TestServer> {
  const server = await startTestServer(undefined, {}, smtpUrl)
  closing.push(() => server.close())
  return server
}

function register(server: TestServer, email: string): Promise<Answer> {
  const person = {
    first_name: 'Ada',
    last_name: 'Lovelace',
    org_name: 'Engines',
    password: 'a horse of another colour',
  }
  return server.call('POST', '/register', { as: null, body: { ...person, email } })
}

async function startMails(): Promise<Smtp> {
  const smtp = await startSmtp()
  closing.push(() => smtp.close())
  return smtp
}

it('delivers the link', async () => {
  const smtp = await startMails()
  const server = await startServer(smtp.url)
  const email = `${randomUUID()}@example.test`
  expect(await register(server, email)).toMatchObject({ status: 200, body: {} })
  const mail = await waitUntil('the mail', () => smtp.mails[0] ?? null)
  expect(mail.to).toMatchObject([{ address: email }])
  const verified = await server.call('POST', `/register/verify/${tokenIn(mail)}`, { as: null })
  expect(verified.status).toBe(200)
})

it('gives the same reply whether or not the mail server accepts a recipient', async () => {
  const smtp = await startMails()
  const server = await startServer(smtp.url)
  expect(await register(server, 'ada@nowhere.test')).toMatchObject({ status: 200, body: {} })
  await waitUntil('the recipient is refused', () => smtp.refused.length > 0)
  expect(await register(server, server.org.email)).toMatchObject({ status: 200, body: {} })
  expect((await waitUntil('the mail', () => smtp.mails[0] ?? null)).subject).toBe('You already have an account')
})

it('does not wait for a mail server that hangs', async () => {
  const hanging: Server = createServer()
  hanging.listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const connected = once(hanging, 'connection')
  closing.push(async () => {
    hanging.close()
  })
  const server = await startServer(`smtp://127.0.0.1:${(hanging.address() as AddressInfo).port}`)
  expect(await register(server, 'ada@example.test')).toMatchObject({ status: 200, body: {} })
  const [socket] = await connected
  // The mailer is still waiting for the greeting.
  expect(socket.readyState).toBe('open')
  socket.on('error', () => {})
})
