import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, type Server, createServer } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { afterEach, expect, it } from 'vitest'
import { tokenIn } from '../support/mails.ts'
import { type Answer, type TestServer, startTestServer } from '../support/server.ts'
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

interface Smtp {
  readonly url: string
  readonly mails: Email[]
  /** Recipients that it refused. */
  readonly refused: string[]
}

/** Takes mails for anybody but those at nowhere.test. */
async function startSmtp(): Promise<Smtp> {
  const mails: Email[] = []
  const refused: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _session, done) {
      const known = !address.endsWith('@nowhere.test')
      if (!known) refused.push(address)
      done(known ? null : Object.assign(new Error('no such mailbox'), { responseCode: 550 }))
    },
    onData(stream, _session, done) {
      void readAll(stream)
        .then(async (message) => mails.push(await PostalMime.parse(message)))
        .finally(done)
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  return { url: `smtp://127.0.0.1:${port}`, mails, refused }
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}

it('brings the link to its reader', async () => {
  const smtp = await startSmtp()
  const server = await startServer(smtp.url)
  const email = `${randomUUID()}@example.test`
  expect(await register(server, email)).toMatchObject({ status: 200, body: {} })
  const mail = await waitUntil('the mail', () => smtp.mails[0] ?? null)
  expect(mail.to).toMatchObject([{ address: email }])
  const verified = await server.call('POST', `/register/verify/${tokenIn(mail)}`, { as: null })
  expect(verified.status).toBe(200)
})

it('answers the same whether the mail server takes a recipient or not', async () => {
  const smtp = await startSmtp()
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
