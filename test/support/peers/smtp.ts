import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

/** A mail server on a free port. */
export interface Smtp {
  readonly url: string
  readonly mails: Email[]
  /** The recipients that it refused. */
  readonly refused: string[]
  close(): Promise<void>
}

/** Starts a server that accepts mails for all recipients except those at nowhere.test. */
export async function startSmtp(): Promise<Smtp> {
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
      void buffer(stream)
        .then(async (message) => mails.push(await PostalMime.parse(message)))
        .finally(done)
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refused,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
