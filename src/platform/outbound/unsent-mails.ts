import { mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../log.ts'
import type { Secrets } from '../secrets.ts'
import { writeWhole } from '../storage/files.ts'
import type { Clock } from '../time/clock.ts'
import { uuidv7 } from '../uuidv7.ts'
import type { Mail, MailStore, Mailer } from './mail.ts'

/** Most links in older mails have expired: only an invitation may be valid for longer. */
const MAX_AGE_MS = 24 * 3600e3

/** Mails that the stop of the service has interrupted. */
export interface UnsentMails extends MailStore {
  /** Sends the stored mails, the oldest first, until a stop. Each is tried once, as any other mail. Never rejects. */
  sendAll(mailer: Mailer): Promise<void>
}

interface Options {
  readonly dataDir: string
  readonly secrets: Pick<Secrets, 'seal' | 'open'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** Stores mails in `<dataDir>/mail/unsent`, one sealed file each, because their links are as good as passwords. */
export function openUnsentMails({ dataDir, secrets, clock, log }: Options): UnsentMails {
  const dir = join(dataDir, 'mail', 'unsent')

  let isStopping = false
  /** The mail of a file: if a stop interrupts it, the file stays as it is, with the age of the mail. */
  let underWay: { readonly mail: Mail; isInterrupted: boolean } | null = null

  /** Returns false if a stop interrupts the mail. */
  async function sendOne(name: string, mailer: Mailer): Promise<boolean> {
    const { mail, at } = JSON.parse(secrets.open(await readFile(join(dir, name)), name)) as Stored
    if (clock.now().getTime() - at > MAX_AGE_MS) throw new Error('the last stop interrupted it more than a day ago')
    const sending = { mail, isInterrupted: false }
    underWay = sending
    await mailer.send(mail)
    return !sending.isInterrupted
  }

  async function sendFile(name: string, mailer: Mailer): Promise<void> {
    const isDone = await sendOne(name, mailer).catch((error: unknown) => {
      log.error({ err: error }, 'could not send a mail')
      return true
    })
    if (isDone) await rm(join(dir, name), { force: true })
  }

  return {
    async insert(mail) {
      isStopping = true
      if (mail === underWay?.mail) {
        underWay.isInterrupted = true
        return
      }
      const name = uuidv7()
      const stored: Stored = { mail, at: clock.now().getTime() }
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await writeWhole(join(dir, name), secrets.seal(JSON.stringify(stored), name))
      log.info('stored a mail that the stop interrupted: the next start sends it')
    },
    async sendAll(mailer) {
      for (const name of (await readdir(dir).catch((): string[] => [])).toSorted()) {
        if (isStopping) return
        await sendFile(name, mailer).catch((error: unknown) =>
          log.error({ err: error, name }, 'could not delete the file of a mail'),
        )
      }
    },
  }
}

interface Stored {
  readonly mail: Mail
  /** Milliseconds since 1970. */
  readonly at: number
}
