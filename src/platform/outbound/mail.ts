import { setMaxListeners } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { uuidv7 } from '../uuidv7.ts'
import { writeWhole } from '../storage/files.ts'
import { lazily } from '../lazily.ts'
import type { Logger } from '../log.ts'
import { isLoopback } from './loopback.ts'

/** A mail to one person. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The links in it, for the log of a server that has no mail server. */
  readonly links: readonly string[]
}

export interface Mailer {
  /**
   * Resolves once the mail server has accepted it, or it is stored for the next start.
   * @throws Error when the server does not accept it, in time.
   */
  send(mail: Mail): Promise<void>
  /** Gives mails in progress 3 s, or less time. Unfinished and later ones are stored if there is a place for them, or fail. */
  close(withinMs?: number): Promise<void>
}

export interface MailStore {
  /** Stores a mail until the next start. */
  insert(mail: Mail): Promise<void>
}

export interface MailerOptions {
  /**
   * For example `smtps://user:password@host`; null writes files instead. Options of the connection may follow as a
   * query (`?requireTLS=true`). With a password in it, a connection to another machine must be encrypted.
   */
  readonly smtpUrl: string | null
  /** Sender, such as `Signalbox <signalbox@example.net>`. */
  readonly from: string
  /** Folder for the files: `<dataDir>/mail/*.eml`. */
  readonly dataDir: string
  readonly log: Logger
  /** Stores mails that close() interrupts. Absent: they are lost. */
  readonly unsent?: MailStore
  /** Time limit for a mail as a whole, including its wait behind others; half a minute by default. */
  readonly sendWithinMs?: number
}

/** For each step of the conversation with the mail server. */
const STEP_TIMEOUT_MS = 10_000
const SEND_WITHIN_MS = 30_000
const CLOSE_WITHIN_MS = 3000
/** A mail server that hangs must not fill the memory. */
const MAX_UNDER_WAY = 1000

/** The way in which mails leave. */
interface Outlet {
  send(mail: Mail, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export function createMailer(options: MailerOptions): Mailer {
  const outlet = options.smtpUrl === null ? fileOutlet(options) : smtpOutlet(options.smtpUrl, options.from)
  const sendWithinMs = options.sendWithinMs ?? SEND_WITHIN_MS
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const underWay = new Set<Promise<void>>()
  async function deliver(mail: Mail): Promise<void> {
    try {
      if (closing.signal.aborted) throw new Error('the mailer is closed')
      await outlet.send(mail, AbortSignal.any([closing.signal, AbortSignal.timeout(sendWithinMs)]))
    } catch (error) {
      if (!closing.signal.aborted || options.unsent === undefined) throw error
      await options.unsent.insert(mail)
    }
  }
  return {
    async send(mail) {
      if (underWay.size >= MAX_UNDER_WAY) throw new Error(`${MAX_UNDER_WAY} mails are under way already`)
      const sending = deliver(mail)
      underWay.add(sending)
      try {
        await sending
      } finally {
        underWay.delete(sending)
      }
    },
    async close(withinMs = CLOSE_WITHIN_MS) {
      const waited = new AbortController()
      const late = delay(Math.min(withinMs, CLOSE_WITHIN_MS), undefined, { signal: waited.signal }).catch(
        () => undefined,
      )
      await Promise.race([Promise.allSettled(underWay), late])
      waited.abort()
      closing.abort()
      await Promise.allSettled(underWay)
      await outlet.close()
    },
  }
}

function smtpOutlet(url: string, from: string): Outlet {
  const { protocol, hostname, password } = new URL(url)
  const settings = {
    url,
    pool: true,
    maxConnections: 2,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    // Otherwise an attacker on the path could hide STARTTLS and read the password.
    requireTLS: protocol === 'smtp:' && password !== '' && !isLoopback(hostname),
  } as const
  const transport = lazily(async () => {
    const { createTransport } = await import('nodemailer')
    return createTransport(settings, { from })
  })
  return {
    async send({ to, subject, text, html }, signal) {
      await (
        await transport.get()
      ).sendMail({
        to: { name: '', address: to },
        subject,
        text,
        html,
        signal,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    },
    close: async () => (await transport.opened)?.close(),
  }
}

/** For a service without a mail server: its operator finds the mails in the data folder, and the links in the log. */
function fileOutlet({ from, dataDir, log }: MailerOptions): Outlet {
  const transport = lazily(async () => {
    const { createTransport } = await import('nodemailer')
    return createTransport({ streamTransport: true, buffer: true, newline: 'unix' }, { from })
  })
  const dir = join(dataDir, 'mail')
  return {
    async send({ to, subject, text, html, links }) {
      const { message } = await (
        await transport.get()
      ).sendMail({
        to: { name: '', address: to },
        subject,
        text: { raw: readablePart('text/plain', text) },
        html: { raw: readablePart('text/html', html) },
      })
      const path = join(dir, `${uuidv7()}.eml`)
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await writeWhole(path, message)
      log.info({ path, links }, 'wrote a mail to a file: no mail server is configured')
    },
    close: async () => (await transport.opened)?.close(),
  }
}

/** Unlike the encodings for old mail servers, this one leaves links intact for people who open the file. */
function readablePart(type: string, content: string): string {
  return `Content-Type: ${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${content}`
}
