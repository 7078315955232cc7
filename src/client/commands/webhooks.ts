import type { Command } from 'commander'
import { CommandError } from '../exit-codes.ts'
import { type HeardMessage, listenForWebhooks, parsePublicKey } from '../listen.ts'
import { textOf } from '../output.ts'
import { type AddCommands, wholeNumber } from './command.ts'
import { messageOf } from '../../platform/message-of.ts'

const MAX_PORT = 65_535

/** Commands for authors of receivers of webhooks. */
export const addWebhookCommands: AddCommands = (program, open) => {
  const webhooks = program.command('webhooks').description('test receivers of webhooks')
  addListenCommand(webhooks, (command) => {
    const { output, interrupted } = open(command)
    return {
      interrupted,
      onListening: (url) => output.show({ listening: url }, () => `listening at ${url}`),
      onMessage: (message) => output.show({ ...message }, () => messageText(message)),
    }
  })
}

/** The program that runs the receiver. */
export interface ListenHost {
  readonly interrupted: AbortSignal
  readonly onListening: (url: string) => void
  readonly onMessage: (message: HeardMessage) => void
}

interface ListenArguments {
  readonly host: string
  readonly port: number
  readonly secret?: string
  readonly publicKey?: string
  readonly status: number
  readonly hang?: true
  readonly reset?: true
  readonly times?: number
  readonly delay: number
}

/** Adds the command that receives webhooks. Both command lines have it. */
export function addListenCommand(webhooks: Command, hostOf: (command: Command) => ListenHost): void {
  webhooks
    .command('listen')
    .description('receive webhooks on this machine: verify each, print it, and answer it')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen; 0: any free port', wholeNumber, 9000)
    .option('--secret <text>', 'secret of the webhook; without it nothing is verified')
    .option('--public-key <key>', 'public key (whpk_...) of a webhook with ed25519_signatures; verifies v1a')
    .option('--status <number>', 'answer with this status', wholeNumber, 200)
    .option('--hang', 'accept messages and never answer')
    .option('--reset', 'reset the connection instead of an answer')
    .option('--times <number>', 'number of messages that get this answer; the others get 200', wholeNumber)
    .option('--delay <ms>', 'wait before each answer', wholeNumber, 0)
    .action((given: ListenArguments, command: Command) => listen(given, hostOf(command)))
}

/** Runs until it is interrupted. */
async function listen(given: ListenArguments, { interrupted, onListening, onMessage }: ListenHost): Promise<void> {
  const { host, port, status, delay, hang, reset, secret = null, times = Infinity } = given
  if (port > MAX_PORT) throw new CommandError('usage', `--port: ${port} is not a port`)
  if (status < 200 || status > 599)
    throw new CommandError('usage', `--status: ${status} is not a status from 200 to 599`)
  if (hang === true && reset === true) throw new CommandError('usage', '--hang and --reset exclude each other')
  const publicKey = given.publicKey === undefined ? null : parsePublicKey(given.publicKey)
  if (publicKey === undefined)
    throw new CommandError('usage', `--public-key: ${given.publicKey} is not a key such as whpk_...`)
  const reply = hang === true ? 'hang' : reset === true ? 'reset' : 'answer'
  const fault = { reply, status, times, delayMs: delay } as const
  const options = { host, port, secret, publicKey, fault, now: () => new Date(), onMessage }
  const listener = await listenForWebhooks(options).catch((error: unknown) => {
    throw new CommandError('usage', messageOf(error))
  })
  onListening(listener.url)
  await new Promise<void>((resolve) => {
    if (interrupted.aborted) resolve()
    interrupted.addEventListener('abort', () => resolve(), { once: true })
  })
  await listener.close()
}

function messageText({ at, id, repeated, fault, status, message }: HeardMessage): string {
  const heading = [
    at,
    id ?? 'without id',
    ...(fault === null ? [] : [`not from the service: ${fault}`]),
    ...(repeated ? ['repeated'] : []),
    status === null ? 'not answered' : `answered ${status}`,
  ]
  const text = typeof message === 'string' ? textOf(message) : JSON.stringify(message, null, 2)
  return `${heading.join('  ')}\n${text}`
}
