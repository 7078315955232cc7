import { randomBytes } from 'node:crypto'
import { mkdir, readFile, readdir, stat } from 'node:fs/promises'
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { composeMail } from '../../src/accounts/mail/compose-mail.ts'
import { postMail } from '../../src/accounts/mail/post-mail.ts'
import { type Mailer, type MailerOptions, createMailer } from '../../src/platform/outbound/mail.ts'
import { openUnsentMails } from '../../src/platform/outbound/unsent-mails.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { selfSigned } from '../webhooks/self-signed.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

let dataDir: string
let lines: string[]
const closing: (() => Promise<void>)[] = []

beforeEach(async () => {
  dataDir = await temporaryDir()
  lines = []
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const letter = (to = 'ada@example.test') =>
  composeMail({
    to,
    subject: 'Grüße',
    paragraphs: ['One & two.', 'Drei <b>vier</b>.'],
    action: { label: 'Go', url: 'http://signalbox.test/go?token=abc' },
  })

function openMailer(smtpUrl: string | null, options: Partial<MailerOptions> = {}): Mailer {
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const mailer = createMailer({ smtpUrl, from: 'Signalbox <noc@example.test>', dataDir, log, ...options })
  closing.push(() => mailer.close())
  return mailer
}

interface Received {
  readonly mail: Email
  readonly to: string[]
  readonly secure: boolean
  readonly user: string | undefined
}

interface Smtp {
  readonly port: number
  readonly received: Received[]
  /** The user names of all logins. */
  readonly logins: string[]
}

/** Starts a real SMTP server, which accepts one password and refuses recipients at nowhere.test. */
async function startSmtp(options: SMTPServerOptions): Promise<Smtp> {
  const received: Received[] = []
  const logins: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    onAuth({ username = '', password }, _session, done) {
      logins.push(username)
      if (password === 'p@ss') done(null, { user: username })
      else done(new Error('wrong'))
    },
    onRcptTo({ address }, _session, done) {
      const refusal = Object.assign(new Error('no such mailbox'), { responseCode: 550 })
      done(address.endsWith('@nowhere.test') ? refusal : null)
    },
    onData(stream, session, done) {
      void readMail(stream, session)
        .then((mail) => received.push(mail))
        .finally(done)
    },
    ...options,
  })
  // Clients that do not trust the certificate disconnect.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  return { port, received, logins }
}

async function readMail(stream: AsyncIterable<Buffer>, session: SMTPServerSession): Promise<Received> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part)
  return {
    mail: await PostalMime.parse(Buffer.concat(parts)),
    to: session.envelope.rcptTo.map(({ address }) => address),
    secure: session.secure,
    user: typeof session.user === 'string' ? session.user : undefined,
  }
}

/** Starts a server whose conversation is `converse`. */
async function startRaw(converse: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    converse(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

describe('by SMTP', () => {
  it('delivers the same text as plain text and as HTML', async () => {
    const { port, received } = await startSmtp({ disabledCommands: ['STARTTLS'] })
    await openMailer(`smtp://127.0.0.1:${port}`).send(letter())
    expect(received).toHaveLength(1)
    const { mail, to } = received[0] ?? expect.unreachable()
    expect(to).toEqual(['ada@example.test'])
    expect(mail).toMatchObject({ subject: 'Grüße', from: { name: 'Signalbox', address: 'noc@example.test' } })
    expect(mail.text).toContain('One & two.\n\nDrei <b>vier</b>.\n\nGo:\nhttp://signalbox.test/go?token=abc')
    expect(mail.html).toContain('<p>Drei &lt;b&gt;vier&lt;/b&gt;.</p>')
    expect(mail.html).toContain('<a href="http://signalbox.test/go?token=abc">Go</a>')
    expect(await readdir(dataDir)).toEqual([])
  })

  it('encrypts with STARTTLS if it is offered, and logs in', async () => {
    const { port, received } = await startSmtp(await selfSigned('127.0.0.1'))
    await openMailer(`smtp://ada:p%40ss@127.0.0.1:${port}?tls.rejectUnauthorized=false`).send(letter())
    expect(received).toMatchObject([{ secure: true, user: 'ada' }])
  })

  it('encrypts from the start if the URL requires it', async () => {
    const { port, received } = await startSmtp({ ...(await selfSigned('127.0.0.1')), secure: true })
    await openMailer(`smtps://ada:p%40ss@127.0.0.1:${port}?tls.rejectUnauthorized=false`).send(letter())
    expect(received).toMatchObject([{ secure: true, user: 'ada' }])
  })

  it.each(['smtp', 'smtps'])('does not trust an unverifiable certificate by %s', async (protocol) => {
    const { port, received, logins } = await startSmtp({
      ...(await selfSigned('127.0.0.1')),
      secure: protocol === 'smtps',
    })
    await expect(openMailer(`${protocol}://ada:p%40ss@127.0.0.1:${port}`).send(letter())).rejects.toThrow(/certificate/)
    expect({ received, logins }).toEqual({ received: [], logins: [] })
  })

  it('does not send its password to another machine that hides STARTTLS', async () => {
    const { port, received, logins } = await startSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true })
    // This address reaches this machine, but does not identify it as loopback.
    await expect(openMailer(`smtp://ada:p%40ss@0.0.0.0:${port}`).send(letter())).rejects.toThrow(/STARTTLS|TLS/)
    expect({ received, logins }).toEqual({ received: [], logins: [] })
    await openMailer(`smtp://ada:p%40ss@127.0.0.1:${port}`).send(letter())
    expect(received).toHaveLength(1)
  })

  it('reports a wrong password', async () => {
    const { port } = await startSmtp(await selfSigned('127.0.0.1'))
    const mailer = openMailer(`smtp://ada:wrong@127.0.0.1:${port}?tls.rejectUnauthorized=false`)
    await expect(mailer.send(letter())).rejects.toThrow(/wrong|535/)
  })

  it('reports a refused recipient, and continues with others', async () => {
    const { port, received } = await startSmtp({ disabledCommands: ['STARTTLS'] })
    const mailer = openMailer(`smtp://127.0.0.1:${port}`)
    await expect(mailer.send(letter('ada@nowhere.test'))).rejects.toThrow(/no such mailbox/)
    await mailer.send(letter())
    expect(received.map(({ to }) => to)).toEqual([['ada@example.test']])
  })

  it('adds no recipient that an address could smuggle in', async () => {
    const { port, received } = await startSmtp({ disabledCommands: ['STARTTLS'] })
    const mailer = openMailer(`smtp://127.0.0.1:${port}`)
    await Promise.allSettled(
      ['ada@example.test\r\nBcc: eve@example.test', 'ada@example.test, eve@example.test'].map((to) =>
        mailer.send(letter(to)),
      ),
    )
    expect(received.flatMap(({ to }) => to).filter((address) => address.startsWith('eve'))).toEqual([])
    expect(received.flatMap(({ mail }) => mail.bcc ?? [])).toEqual([])
  })

  it('reports that nothing listens', async () => {
    await expect(openMailer('smtp://127.0.0.1:9').send(letter())).rejects.toThrow(/ECONNREFUSED/)
  })
})

describe('a mail server that misbehaves', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['sends nothing', () => {}],
    ['greets and sends nothing more', (socket) => socket.write('220 hello\r\n')],
    [
      'trickles',
      (socket) => {
        const timer = setInterval(() => socket.write('220-wait\r\n'), 20)
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ])('is given up if it %s', async (_what, converse) => {
    const port = await startRaw(converse)
    const mailer = openMailer(`smtp://127.0.0.1:${port}`, { sendWithinMs: 200 })
    // There are more mails than connections: the last ones wait for the others.
    const results = await Promise.allSettled(Array.from({ length: 4 }, () => mailer.send(letter())))
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  })

  it('is given up if it closes each connection', async () => {
    const port = await startRaw((socket) => socket.end('421 busy\r\n'))
    await expect(openMailer(`smtp://127.0.0.1:${port}`, { sendWithinMs: 2000 }).send(letter())).rejects.toThrow()
  })

  it('makes no more than a thousand mails wait', async () => {
    const port = await startRaw(() => {})
    const mailer = openMailer(`smtp://127.0.0.1:${port}`, { sendWithinMs: 500 })
    const sending = Array.from({ length: 1001 }, () => mailer.send(letter()))
    await expect(sending.at(-1)).rejects.toThrow('1000 mails are under way already')
    expect((await Promise.allSettled(sending)).filter(({ status }) => status === 'rejected')).toHaveLength(1001)
  })

  it('does not prevent the service from stopping', async () => {
    const port = await startRaw(() => {})
    const mailer = openMailer(`smtp://127.0.0.1:${port}`)
    const sending = mailer.send(letter())
    await Promise.all([mailer.close(), expect(sending).rejects.toThrow()])
    await expect(mailer.send(letter())).rejects.toThrow('closed')
  })
})

describe('mails that a stop interrupts', () => {
  const secrets = createSecrets(randomBytes(32))
  const clock = createTestClock()
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const open = () => openUnsentMails({ dataDir, secrets, clock, log })
  const stored = () => readdir(join(dataDir, 'mail', 'unsent'))

  /** Stops while a mail server answers to none of the mails. */
  async function interrupt(count: number): Promise<void> {
    const port = await startRaw(() => {})
    const mailer = openMailer(`smtp://127.0.0.1:${port}`, { unsent: open() })
    const sending = Array.from({ length: count }, (_, index) => mailer.send(letter(`ada${index}@example.test`)))
    await mailer.close(0)
    await Promise.all(sending)
  }

  it('are sealed in files, and sent after the next start, each once', async () => {
    await interrupt(3)
    const [name = ''] = await stored()
    const path = join(dataDir, 'mail', 'unsent', name)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await readFile(path)).includes('token=')).toBe(false)
    const { port, received } = await startSmtp({ disabledCommands: ['STARTTLS'] })
    for (let start = 0; start < 2; start += 1) await open().sendAll(openMailer(`smtp://127.0.0.1:${port}`))
    expect(received.map(({ to }) => to)).toEqual([0, 1, 2].map((index) => [`ada${index}@example.test`]))
    expect(received[0]?.mail.text).toContain('http://signalbox.test/go?token=abc')
    expect(await stored()).toEqual([])
  })

  it('stay as they are where the next start is stopped, too', async () => {
    await interrupt(2)
    const names = await stored()
    clock.advance(3600_000)
    const port = await startRaw(() => {})
    const unsent = open()
    const mailer = openMailer(`smtp://127.0.0.1:${port}`, { unsent })
    const sending = unsent.sendAll(mailer)
    await mailer.close(0)
    await sending
    expect(await stored()).toEqual(names)
  })

  it('are sent although a file beside them can be neither read nor deleted', async () => {
    await interrupt(1)
    await mkdir(join(dataDir, 'mail', 'unsent', '0'))
    const { port, received } = await startSmtp({ disabledCommands: ['STARTTLS'] })
    await open().sendAll(openMailer(`smtp://127.0.0.1:${port}`))
    expect([received.length, await stored()]).toEqual([1, ['0']])
  })

  it('are not sent after a day, which the log says', async () => {
    await interrupt(1)
    clock.advance(25 * 3600_000)
    const { port, received } = await startSmtp({ disabledCommands: ['STARTTLS'] })
    await open().sendAll(openMailer(`smtp://127.0.0.1:${port}`))
    expect([received, await stored()]).toEqual([[], []])
    expect(lines.at(-1)).toContain('the last stop interrupted it more than a day ago')
  })
})

describe('posting a mail', () => {
  it('returns immediately, and logs failures without the link', async () => {
    const mailer = openMailer('smtp://127.0.0.1:9')
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    expect(postMail({ log }, mailer, letter())).toBeUndefined()
    await waitUntil('a log line', () => lines.length > 0)
    expect(lines).toEqual([expect.stringContaining('could not send a mail')])
    expect(lines.join('')).not.toContain('token=')
  })
})

describe('without a mail server', () => {
  it('writes files that only the operator can read, and logs the links', async () => {
    await openMailer(null).send(letter())
    const names = await readdir(join(dataDir, 'mail'))
    expect(names).toEqual([expect.stringMatching(/^[\da-f-]+\.eml$/)])
    const path = join(dataDir, 'mail', names[0] ?? '')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(join(dataDir, 'mail'))).mode & 0o777).toBe(0o700)
    const file = await readFile(path, 'utf8')
    // The file is readable without a mail program.
    expect(file).toContain('\nGo:\nhttp://signalbox.test/go?token=abc\n')
    expect(file).toContain('Drei <b>vier</b>.')
    const mail = await PostalMime.parse(file)
    expect(mail).toMatchObject({ subject: 'Grüße', to: [{ address: 'ada@example.test' }] })
    expect(mail.text).toContain('Drei <b>vier</b>.')
    expect(mail.html).toContain('<a href="http://signalbox.test/go?token=abc">Go</a>')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ path, links: ['http://signalbox.test/go?token=abc'] })
  })

  it('finishes the mails that it has begun before it closes', async () => {
    const mailer = openMailer(null)
    const sending = Array.from({ length: 20 }, () => mailer.send(letter()))
    await mailer.close()
    expect((await Promise.allSettled(sending)).map(({ status }) => status)).toEqual(Array(20).fill('fulfilled'))
    expect(await readdir(join(dataDir, 'mail'))).toHaveLength(20)
  })
})
