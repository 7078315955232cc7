import { mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../log.ts'
import type { Secrets } from '../secrets.ts'
import { writeWhole } from '../storage/files.ts'
import type { Clock } from '../time/clock.ts'
import { uuidv7 } from '../uuidv7.ts'
import type { Mail, MailStore, Mailer } from './mail.ts'

/** Links in older mails have expired. */
const MAX_AGE_MS = 24 * 3600e3

/** Mails that the stop of the service has interrupted. */
export interface UnsentMails extends MailStore {
  /** Sends the stored mails, the oldest first. Each is tried once, as any other mail. */
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

  async function sendOne(name: string, mailer: Mailer): Promise<void> {
    const { mail, at } = JSON.parse(secrets.open(await readFile(join(dir, name)), name)) as Stored
    if (clock.now().getTime() - at > MAX_AGE_MS) throw new Error('the last stop interrupted it more than a day ago')
    await mailer.send(mail)
  }

  return {
    async insert(mail) {
      const name = uuidv7()
      const stored: Stored = { mail, at: clock.now().getTime() }
      await mkdir(dir, { recursive: true, mode: 0o700 })
      await writeWhole(join(dir, name), secrets.seal(JSON.stringify(stored), name))
      log.info('stored a mail that the stop interrupted: the next start sends it')
    },
    async sendAll(mailer) {
      for (const name of (await readdir(dir).catch((): string[] => [])).toSorted()) {
        await sendOne(name, mailer).catch((error: unknown) => log.error({ err: error }, 'could not send a mail'))
        await rm(join(dir, name), { force: true })
      }
    },
  }
}

interface Stored {
  readonly mail: Mail
  /** Milliseconds since 1970. */
  readonly at: number
}
