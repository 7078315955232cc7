import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { uuidv7 } from 'uuidv7'
import type { Logger } from './log.ts'

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
  /** Resolves once the mail server has taken it. @throws Error when it does not. */
  send(mail: Mail): Promise<void>
  close(): Promise<void>
}

export interface MailerOptions {
  /** Like `smtps://user:password@host`; null writes files instead. */
  readonly smtpUrl: string | null
  /** Sender, like `Signalbox <signalbox@example.net>`. */
  readonly from: string
  /** Folder for the files: `<dataDir>/mail/*.eml`. */
  readonly dataDir: string
  readonly log: Logger
}

const TIMEOUT_MS = 10_000

export function createMailer(options: MailerOptions): Mailer {
  return options.smtpUrl === null ? fileMailer(options) : smtpMailer(options.smtpUrl, options)
}

function smtpMailer(url: string, { from }: MailerOptions): Mailer {
  const transport = createTransport(
    {
      url,
      pool: true,
      maxConnections: 2,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
    },
    { from },
  )
  return {
    async send({ to, subject, text, html }) {
      await transport.sendMail({
        to: { name: '', address: to },
        subject,
        text,
        html,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    },
    async close() {
      transport.close()
    },
  }
}

/** For a server without a mail server: whoever runs it finds the mails in the data folder, and the links in the log. */
function fileMailer({ from, dataDir, log }: MailerOptions): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' }, { from })
  const dir = join(dataDir, 'mail')
  return {
    async send({ to, subject, text, html, links }) {
      const { message } = await transport.sendMail({ to: { name: '', address: to }, subject, text, html })
      const path = join(dir, `${uuidv7()}.eml`)
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await writeFile(`${path}.new`, message, { mode: 0o600 })
      await rename(`${path}.new`, path)
      log.info({ path, links }, 'wrote a mail to a file: no mail server is configured')
    },
    async close() {
      transport.close()
    },
  }
}
